import "server-only";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { findSuite, importSuite } from "@/db/queries/suites";
import { InfraDevError, problemFromZod } from "@/lib/contract/errors";
import { type PackedSuite, packedSuiteSchema } from "@/lib/contract/task";
import { announceTags } from "../announce";
import type { ServerContext } from "../context";
import { cacheTags } from "../tags";

const packFile = (context: ServerContext, slug: string, version: string) =>
  join(context.dataDir, "packs", `${slug}@${version}.json`);

/** Reads a packed suite. Throws `suite.unreadable`, `suite.not-json` or `suite.invalid`, naming file and field. */
async function readPack(path: string): Promise<PackedSuite> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "suite.unreadable",
        message: `the packed suite cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown error"})`,
        where: path,
        rule: "a suite is imported from the file that 'runner suite pack' writes",
        remedy: "run: npm run runner -- suite pack <suite folder> --out <file>",
      },
      { cause },
    );
  }
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "suite.not-json",
        message: "the packed suite is not JSON",
        where: path,
        rule: "a packed suite is one JSON document of the form infradev-suite/1",
        remedy: "pack the suite again: npm run runner -- suite pack <suite folder> --out <file>",
      },
      { cause },
    );
  }
  const parsed = packedSuiteSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new InfraDevError(
    "invalid",
    problemFromZod(parsed.error, {
      code: "suite.invalid",
      what: "the packed suite",
      where: path,
      remedy: "pack the suite again with the runner of this version",
    }),
  );
}

/** Imports a packed suite and keeps the pack, whose reference patch sets are submitted later. */
export async function importPackedSuite(
  context: ServerContext,
  path: string,
): Promise<{ suite: string; version: string; tasks: number; created: boolean }> {
  const pack = await readPack(path);
  const { slug, version } = pack.suite;
  const { created } = await context.database.db.transaction((tx) => importSuite(tx, pack));
  await keepPack(packFile(context, slug, version), pack);
  const tags = [cacheTags.suites, cacheTags.board(slug)];
  await announceTags(context.database.sql, tags);
  return { suite: slug, version, tasks: pack.tasks.length, created };
}

/** The kept pack of a suite version, the newest where none is named. Throws `suite.unknown` or `suite.pack-missing`. */
export async function findKeptPack(
  context: ServerContext,
  wanted: { slug: string; version?: string | undefined },
): Promise<{ suiteId: number; pack: PackedSuite }> {
  const suite = await findSuite(context.database.db, wanted);
  const name = [wanted.slug, wanted.version].filter(Boolean).join(" ");
  if (!suite) {
    throw new InfraDevError("not-found", {
      code: "suite.unknown",
      message: `there is no suite ${name}`,
      where: "--suite",
      rule: "a suite is imported before anything is submitted to it",
      remedy: "run: npm run admin -- suite import <packed suite>",
    });
  }
  const file = packFile(context, suite.slug, suite.version);
  try {
    return { suiteId: suite.id, pack: await readPack(file) };
  } catch (cause) {
    if (!(cause instanceof InfraDevError && cause.code === "suite.unreadable")) throw cause;
    throw new InfraDevError(
      "not-found",
      {
        code: "suite.pack-missing",
        message: `the pack of suite ${name} is not among this installation's data`,
        where: file,
        rule: "reference patch sets are read from the pack that was imported",
        remedy: "import the packed suite here again",
      },
      { cause },
    );
  }
}

async function keepPack(path: string, pack: PackedSuite): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  const temporary = `${path}.${process.pid}.new`;
  const file = await open(temporary, "w");
  try {
    await file.writeFile(JSON.stringify(pack));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
