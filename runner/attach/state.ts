import { chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { dsseEnvelopeSchema } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import { jobPayloadType, jobSpecSchema } from "@/lib/contract/job";
import { base64Schema, sha256Schema, uuidSchema } from "@/lib/contract/scalars";
import { gradingStatuses } from "@/lib/contract/vocabulary";

const registrationSchema = z.object({
  format: z.literal("infradev-runner/1"),
  server: z.url(),
  name: z.string(),
  hostId: uuidSchema,
  keyid: sha256Schema,
  credential: z.string(),
  serverKey: z.object({ name: z.string(), keyid: sha256Schema, spki: base64Schema }),
});
/** What a registration left on this host. */
export type Registration = z.infer<typeof registrationSchema>;

const jobStateSchema = z.object({
  format: z.literal("infradev-runner-job/1"),
  spec: jobSpecSchema,
  envelope: dsseEnvelopeSchema.extend({ payloadType: z.literal(jobPayloadType) }),
  stage: z.enum(["claimed", "running", "ready"]),
  /** How often its grading was begun: once, and once more for each time that the runner was killed meanwhile. */
  starts: z.int().min(1),
  /** What finish will say; stands from stage `ready` on. */
  outcome: z
    .object({
      status: z.enum(gradingStatuses),
      bundle: z.object({ file: z.string(), sha256: sha256Schema, bytes: z.int().positive() }).nullable(),
      reason: z.string().nullable(),
    })
    .nullable(),
});
/** A leased job as it stands on disk, so that a runner that starts again knows what it owes. */
export type JobState = z.infer<typeof jobStateSchema>;

/** Folder of one lease. */
export type JobFolder = { dir: string; statePath: string; workDir: string; logPath: string };

async function writePrivate(path: string, document: unknown): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(document, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

async function readDocument<T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T> | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  let parsed: ReturnType<T["safeParse"]>;
  try {
    parsed = schema.safeParse(JSON.parse(text)) as ReturnType<T["safeParse"]>;
  } catch {
    parsed = schema.safeParse(undefined) as ReturnType<T["safeParse"]>;
  }
  if (parsed.success) return parsed.data as z.infer<T>;
  throw new InfraDevError("invalid", {
    code: "attach.state",
    message: "the runner's own file is not as this version wrote it",
    where: path,
    rule: "the data folder is written by the runner only",
    remedy: "move the file away; a registration needs a new token after that",
  });
}

/**
 * The runner's data folder (mode 0700): `key.pem`, `runner.json`, `jobs/<lease id>/`, and `refused/` for bundles that
 * the server did not take. One runner process at a time uses it.
 */
export class RunnerData {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  get keyPath(): string {
    return join(this.dir, "key.pem");
  }

  private get registrationPath(): string {
    return join(this.dir, "runner.json");
  }

  private get jobsDir(): string {
    return join(this.dir, "jobs");
  }

  /** Makes the folder and takes it for this process. Throws `attach.in-use`. Gives what lets go of it. */
  async open(): Promise<() => Promise<void>> {
    await mkdir(this.jobsDir, { recursive: true, mode: 0o700 });
    await chmod(this.dir, 0o700);
    const lock = join(this.dir, "runner.pid");
    for (;;) {
      try {
        await writeFile(lock, String(process.pid), { flag: "wx", mode: 0o600 });
        return () => rm(lock, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const holder = Number(await readFile(lock, "utf8").catch(() => "0"));
      if (holder > 0 && holder !== process.pid && isAlive(holder)) {
        throw new InfraDevError("conflict", {
          code: "attach.in-use",
          message: `another runner (process ${holder}) uses this data folder`,
          where: this.dir,
          rule: "one runner per data folder",
          remedy: "end the other one, or give this one a folder of its own with --data",
        });
      }
      await rm(lock, { force: true });
    }
  }

  findRegistration(): Promise<Registration | null> {
    return readDocument(this.registrationPath, registrationSchema);
  }

  recordRegistration(registration: Registration): Promise<void> {
    return writePrivate(this.registrationPath, registration);
  }

  folderOf(leaseId: string): JobFolder {
    const dir = join(this.jobsDir, leaseId);
    return { dir, statePath: join(dir, "job.json"), workDir: join(dir, "work"), logPath: join(dir, "log.txt") };
  }

  async recordJob(state: JobState): Promise<JobFolder> {
    const folder = this.folderOf(state.spec.lease.id);
    await mkdir(folder.workDir, { recursive: true, mode: 0o700 });
    await writePrivate(folder.statePath, state);
    return folder;
  }

  async listJobs(): Promise<JobState[]> {
    const jobs: JobState[] = [];
    for (const name of await readdir(this.jobsDir)) {
      const job = await readDocument(join(this.jobsDir, name, "job.json"), jobStateSchema);
      if (job !== null) jobs.push(job);
      else await rm(join(this.jobsDir, name), { recursive: true, force: true });
    }
    return jobs;
  }

  /** Forgets a job; a bundle that the server refused is kept below `refused/`. Gives where it is kept. */
  async closeJob(leaseId: string, keepBundle: boolean): Promise<string | null> {
    const folder = this.folderOf(leaseId);
    const state = await readDocument(folder.statePath, jobStateSchema);
    let kept: string | null = null;
    const bundle = state?.outcome?.bundle;
    if (keepBundle && bundle) {
      await mkdir(join(this.dir, "refused"), { recursive: true, mode: 0o700 });
      kept = join(this.dir, "refused", bundle.file);
      await rename(join(folder.dir, bundle.file), kept);
    }
    await rm(folder.dir, { recursive: true, force: true });
    return kept;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
