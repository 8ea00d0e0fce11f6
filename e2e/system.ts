import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase, type DatabaseHandle } from "../db/client";
import { type EmbeddedServer, freePort, startEmbedded } from "../db/embedded";
import { migrateDatabase } from "../db/migrate";
import { seedDatabase } from "../db/seed/seed";
import {
  buildSite,
  copyBuild,
  type Program,
  removeBuildCopy,
  repositoryRoot,
  runCommand,
  type Site,
  startProgram,
  startSite,
} from "./stack";

/** The whole of it on this machine, in a folder of its own: database with the published data, production site. */
export interface System {
  dataDir: string;
  logs: string;
  server: EmbeddedServer;
  database: DatabaseHandle;
  site: Site;
  /** What `startSite` needs to start the site again in its place. */
  place: { port: number; distDir: string };
}

const tsx = [process.execPath, "--import", "tsx"];
const runner = [...tsx, join(repositoryRoot, "runner/cli.ts")];

/** Starts it; the site is built first unless the last build is of the same sources. What failed half-way is undone. */
export async function startSystem(name: string): Promise<System> {
  const dataDir = mkdtempSync(join(tmpdir(), `infradev-${name}-`));
  const logs = join(dataDir, "logs");
  mkdirSync(logs, { recursive: true });
  const server = await startEmbedded({ dataDir });
  let distDir: string | null = null;
  try {
    await migrateDatabase(server.url);
    await seedDatabase(server.url);
    await buildSite({ databaseUrl: server.url, dataDir });
    distDir = await copyBuild();
    const place = { port: await freePort(), distDir };
    const site = await startSite({ databaseUrl: server.url, dataDir, ...place });
    return { dataDir, logs, server, database: createDatabase(server.url, { max: 2 }), site, place };
  } catch (error) {
    await server.stop();
    if (distDir) removeBuildCopy(distDir);
    throw error;
  }
}

/** Ends it and removes its folder; nothing to do where it never started. */
export async function stopSystem(system: System | undefined): Promise<void> {
  if (!system) return;
  await system.database.close();
  await system.site.stop();
  await system.server.stop();
  removeBuildCopy(system.place.distDir);
  rmSync(system.dataDir, { recursive: true, force: true });
}

const environmentOf = ({ server, dataDir }: System) => ({ DATABASE_URL: server.url, INFRADEV_DATA_DIR: dataDir });

/** Runs a maintainer's command in a process of its own; its JSON document. */
export async function administer(system: System, ...args: string[]): Promise<unknown> {
  const cli = join(repositoryRoot, "lib/server/admin/cli.ts");
  const command = [process.execPath, "--conditions=react-server", "--import", "tsx", cli, ...args, "--json"];
  const name = args.slice(0, 2).join(" ");
  return JSON.parse(await runCommand(name, command, environmentOf(system), join(system.logs, "admin.log")));
}

/** Packs a suite's folder and imports it. */
export async function importSuite(system: System, folder: string): Promise<void> {
  const pack = join(system.dataDir, "suite.json");
  const command = [...runner, "suite", "pack", folder, "--out", pack];
  await runCommand("suite pack", command, environmentOf(system), join(system.logs, "pack.log"));
  await administer(system, "suite", "import", pack);
}

/** Submits the suite's reference patches named gold; the submission's id. */
export async function submitGold(system: System, suite: string): Promise<string> {
  const { submissions } = (await administer(
    system,
    "submission",
    "create",
    "--suite",
    suite,
    "--reference",
    "gold",
  )) as {
    submissions: { id: string }[];
  };
  const [submission] = submissions;
  if (!submission) throw new Error("nothing was submitted");
  return submission.id;
}

export async function mintToken(system: System): Promise<string> {
  return ((await administer(system, "token", "mint", "--trusted")) as { token: string }).token;
}

/** Attaches a runner on this machine that ends when nothing is queued. It says what it does before it does it. */
export function attachRunner(system: System, token: string, onLine: (line: string) => void): Program {
  const { dataDir, logs, site } = system;
  const given = ["--server", site.url, "--token", token, "--name", "test host", "--data", join(dataDir, "runner")];
  return startProgram({
    command: [...runner, "attach", ...given, "--drain"],
    env: { INFRADEV_DATA_DIR: dataDir },
    logFile: join(logs, "runner.log"),
    onLine,
  });
}

/** Grades a patch on this machine as a vendor does, sends the bundle under a key of the vendor's; the submission's id. */
export async function gradeAndUpload(
  system: System,
  { task, patch, trajectory, candidate }: { task: string; patch: string; trajectory: string; candidate: object },
): Promise<string> {
  const { dataDir, logs, site } = system;
  const key = join(dataDir, "vendor", "key.pem");
  const run = async (name: string, ...args: string[]) =>
    JSON.parse(
      await runCommand(
        name,
        [...runner, ...args, "--key", key, "--json"],
        environmentOf(system),
        join(logs, "vendor.log"),
      ),
    );
  const told = ["--trajectory", trajectory, "--candidate", JSON.stringify(candidate)];
  const out = ["--out", join(dataDir, "vendor"), "--executor", "process"];
  const { bundle } = (await run("grade", "grade", task, "--patch", patch, ...told, ...out)) as {
    bundle: { path: string };
  };
  await administer(system, "key", "add", key.replace(/\.pem$/, ".pub.pem"), "--organization", "synthetic-vendor");
  const { submissionId } = (await run("upload", "upload", bundle.path, "--server", site.url)) as {
    submissionId: string;
  };
  return submissionId;
}
