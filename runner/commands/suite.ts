import { rename, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { InfraDevError } from "@/lib/contract/errors";
import { loadSuite } from "../suites/load";
import { packSuite } from "../suites/pack";
import { provideSources } from "../suites/upstream/sources";
import { exitCodes, formatBytes } from "../terminal/output";
import { locateSuite } from "./locate";
import { mirrorOption, mirrorsOf } from "./mirror-option";
import { runCommand } from "./run-command";

/** `runner suite pack`. */
export function registerSuite(program: Command): void {
  const suite = program.command("suite").description("suites");
  suite
    .command("pack [dir]")
    .description("write the document that a server imports: manifests, prompts, interfaces, reference patches")
    .requiredOption("--out <file>", "where to write it")
    .addOption(mirrorOption())
    .option("--json", "one JSON document on stdout")
    .action((dir: string | undefined, options: { out: string; mirror?: string[]; json?: boolean }) =>
      runCommand(options, async (output) => {
        const loaded = await loadSuite(locateSuite(dir));
        const without = new Set<string>();
        for (const task of loaded.tasks) {
          await provideSources(task, mirrorsOf(options)).catch((error: unknown) => {
            if (!(error instanceof InfraDevError) || error.code !== "upstream.no-mirror") throw error;
            without.add(task.metadata.slug);
          });
        }
        const packed = await packSuite(loaded, without);
        const text = `${JSON.stringify(packed, null, 1)}\n`;
        const out = resolve(options.out);
        const temporary = `${out}.${process.pid}.tmp`;
        try {
          await writeFile(temporary, text);
          await rename(temporary, out);
        } finally {
          await rm(temporary, { force: true });
        }
        const facts = {
          out,
          bytes: Buffer.byteLength(text),
          suite: packed.suite.slug,
          version: packed.suite.version,
          tasks: packed.tasks.length,
          referenceSets: packed.referenceSets.map((set) => ({ name: set.name, patches: set.patches.length })),
        };
        output.line(
          `${facts.suite} ${facts.version}: ${facts.tasks} tasks, ${formatBytes(facts.bytes)}, written to ${out}`,
        );
        for (const set of facts.referenceSets) output.line(`  ${set.name}: ${set.patches} patches`);
        for (const slug of without) output.line(`  ${slug}: no mirror is given, so only nop is packed of its patches`);
        output.result(facts);
        return exitCodes.ok;
      }),
    );
}
