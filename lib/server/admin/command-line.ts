import "server-only";
import type { Command } from "commander";
import { createDatabase } from "@/db/client";
import { findDatabaseUrl } from "@/db/settings";
import { createServerContext, type ServerContext } from "../context";
import { serverEnv } from "../env";

type Answer = { json: unknown; text: string };

/** Registers a command that gets a context, prints its answer, and leaves nothing open. */
export function command(
  parent: Command,
  definition: string,
  description: string,
  work: (context: ServerContext, args: string[], options: Record<string, unknown>) => Promise<Answer>,
): Command {
  const made = parent.command(definition).description(description).option("--json", "print one JSON document");
  made.action(async (...parameters: unknown[]) => {
    const options = made.opts();
    const args = parameters.slice(0, made.registeredArguments.length).map(String);
    const env = serverEnv();
    const database = createDatabase(findDatabaseUrl(env.dataDir), { max: 4, applicationName: "infradev-admin" });
    try {
      const context = await createServerContext({ database, dataDir: env.dataDir, serverName: env.serverName });
      const answer = await work(context, args, options);
      process.stdout.write(options["json"] ? `${JSON.stringify(answer.json)}\n` : `${answer.text}\n`);
    } finally {
      await database.close();
    }
  });
  return made;
}

/** Rows under a header, each column as wide as its widest cell. */
export function table(header: readonly string[], rows: readonly string[][]): string {
  if (rows.length === 0) return "(none)";
  const widths = header.map((title, index) => Math.max(title.length, ...rows.map((row) => (row[index] ?? "").length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd();
  return [line(header), ...rows.map(line)].join("\n");
}
