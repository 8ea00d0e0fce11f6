import type { Guard } from "@/lib/contract/result";
import type { EventStream } from "./event-stream";
import type { LaunchInput } from "./launch-record";
import type { RankRecord } from "./rank-record";

type Watched = {
  input: LaunchInput;
  streams: readonly EventStream[];
  ranks: readonly RankRecord[];
  overflowed: boolean;
};

/** What the guard items of a launch reported, and what its channels carried that the plugin does not write. */
export function inspectGuard(watched: Watched): Pick<Guard, "canaries" | "findings"> & { tampered: boolean } {
  const items = inspectItems(watched);
  const forgery = findForgery(watched);
  return {
    canaries: items.canaries,
    findings: [...items.findings, ...forgery],
    tampered: items.tampered || forgery.length > 0,
  };
}

function inspectItems({ input, ranks }: Watched) {
  const canaries: Guard["canaries"] = [];
  const findings: Guard["findings"] = [];
  let tampered = false;
  const { order } = input.canaries;
  for (const record of ranks) {
    for (const { id, expected } of input.canaries.canaries) {
      const status = record.outcomeOf(id)?.status ?? "not-run";
      const where = `launch ${input.index}, rank ${record.rank}`;
      canaries.push({ launch: input.index, rank: record.rank, expected, observed: status });
      const later = order.slice(order.indexOf(id) + 1);
      const passedAfter = later.some((other) => record.outcomeOf(other)?.status === "passed");
      const wrong =
        expected === "failed"
          ? status === "passed" || status === "skipped"
          : status === "failed" || status === "skipped";
      if (wrong || (status === "not-run" && passedAfter)) {
        tampered = true;
        const message = `${where}: a guard item that must have ${expected} is ${status}`;
        findings.push({ code: "canary.outcome", message });
      } else if (status !== expected && status !== "not-run") {
        const message = `${where}: a guard item ended as ${status} in place of ${expected}`;
        findings.push({ code: "canary.disturbed", message });
      }
    }
  }
  return { canaries, findings, tampered };
}

function findForgery({ input, streams, ranks, overflowed }: Watched): Guard["findings"] {
  const findings: Guard["findings"] = [];
  for (const [rank, stream] of streams.entries()) {
    for (const line of stream.forged) {
      const message = `launch ${input.index}, rank ${rank}: a line that the plugin did not write: ${JSON.stringify(line)}`;
      findings.push({ code: "event.forged", message });
    }
  }
  for (const record of ranks) {
    const where = `launch ${input.index}, rank ${record.rank}`;
    for (const what of record.irregular.slice(0, 5))
      findings.push({ code: "event.order", message: `${where}: ${what}` });
    for (const what of record.integrity) {
      findings.push({ code: "integrity.replaced", message: `${where}: ${what} was replaced while tests ran` });
    }
  }
  if (overflowed) {
    findings.push({ code: "event.overflow", message: `launch ${input.index}: an event channel overflowed` });
  }
  return findings;
}
