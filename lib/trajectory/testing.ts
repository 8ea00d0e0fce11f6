/** A small trajectory of the newest version; made up, as everything in it. */
export function syntheticTrajectory(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    schema_version: "ATIF-v1.7",
    session_id: "synthetic-session",
    agent: { name: "synthetic-agent", version: "1.2.3", model_name: "synthetic-model", extra: { note: "unread" } },
    steps: [
      {
        step_id: 1,
        timestamp: "2026-01-02T03:00:00Z",
        source: "user",
        message: "Free the blocks of an aborted request.",
      },
      {
        step_id: 2,
        timestamp: "2026-01-02T03:00:10.500Z",
        source: "agent",
        message: "I look at the pool first.",
        reasoning_content: "Blocks leak on abort.",
        tool_calls: [
          { tool_call_id: "call-1", function_name: "bash", arguments: { command: "grep -n release pool.py" } },
        ],
        observation: { results: [{ source_call_id: "call-1", content: "12: def release(self, block):" }] },
        metrics: { prompt_tokens: 1000, completion_tokens: 50, cached_tokens: 400, cost_usd: 0.01 },
      },
      {
        step_id: 3,
        timestamp: "2026-01-02T03:02:30Z",
        source: "agent",
        message: "Now I measure.",
        tool_calls: [
          {
            tool_call_id: "call-2",
            function_name: "bash",
            arguments: {
              command:
                "python -c 'import pool; before = pool.memory_allocated(); pool.run(); print(pool.memory_allocated() - before)'",
            },
          },
        ],
        observation: { results: [{ source_call_id: "call-2", content: "\u001b[32m0\u001b[0m\n" }] },
        metrics: { prompt_tokens: 1200, completion_tokens: 70, cached_tokens: 1000, cost_usd: 0.02 },
      },
    ],
    ...overrides,
  };
}

/** A document as bytes that arrive in pieces of the given size. */
export async function* inPieces(text: string, size = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text, "utf8");
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
