import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import { environment } from "../environment";
import type { Gpu, GpuInventory } from "./discover";
import { faultsOf, unreadableKey } from "./health";

const entrySchema = z.object({
  uuid: z.string(),
  code: z.string(),
  message: z.string(),
  remedy: z.string(),
  since: z.string(),
});
export type QuarantineEntry = z.infer<typeof entrySchema>;
const fileSchema = z.object({ format: z.literal("infradev-quarantine/1"), gpus: z.array(entrySchema) });

/** An entry, and whether its GPU is there, be it as one that the driver cannot read. */
export type QuarantinedGpu = QuarantineEntry & { isSeen: boolean };

export type QuarantineEvent = { type: "quarantined" | "cleared"; entry: QuarantineEntry };

/**
 * GPUs that are not given to jobs, in a file of the host: a runner that starts again, or another clone's, knows of
 * them. An entry goes when its GPU is seen and healthy; one that is not seen keeps its entry (see `sortSeen`). A file that cannot be read
 * counts as empty: the next look finds what is wrong anew.
 */
export class Quarantine {
  private readonly path: string;
  private readonly folder: string;

  constructor(folder: string = environment.gpuFolder) {
    this.folder = folder;
    this.path = join(folder, "quarantine.json");
  }

  async list(): Promise<QuarantineEntry[]> {
    const text = await readFile(this.path, "utf8").catch(() => "");
    try {
      return fileSchema.parse(JSON.parse(text)).gpus;
    } catch {
      return [];
    }
  }

  /**
   * Compares what the driver says of GPUs that no grading uses (`idle`) with the file. Gives what changed; the file is
   * written only then.
   */
  async look(inventory: GpuInventory, idle: ReadonlySet<string>): Promise<QuarantineEvent[]> {
    const before = await this.list();
    const since = new Date().toISOString();
    const now: QuarantineEntry[] = [];
    for (const { pciBus, message } of inventory.unreadable) {
      const remedy = "reset the GPU (nvidia-smi --gpu-reset) or reboot; look at dmesg for lines of NVRM: Xid";
      now.push({ uuid: unreadableKey(pciBus), code: "unreadable", message, remedy, since });
    }
    for (const gpu of inventory.gpus) {
      const earlier = before.find(({ uuid }) => uuid === gpu.uuid);
      if (!idle.has(gpu.uuid)) {
        if (earlier !== undefined) now.push(earlier);
        continue;
      }
      const [fault] = faultsOf(gpu);
      if (fault !== undefined) now.push({ uuid: gpu.uuid, ...fault, since });
    }
    for (const earlier of before) {
      const noted = now.some(({ uuid }) => uuid === earlier.uuid);
      if (!noted && !inventory.gpus.some((gpu) => isOf(earlier, gpu))) now.push(earlier);
    }
    return await this.record(before, now);
  }

  /** Notes what a grading saw of a GPU that it had. */
  async add(entry: Omit<QuarantineEntry, "since">): Promise<QuarantineEvent[]> {
    const before = await this.list();
    const rest = before.filter(({ uuid }) => uuid !== entry.uuid);
    return await this.record(before, [...rest, { ...entry, since: new Date().toISOString() }]);
  }

  private async record(
    before: readonly QuarantineEntry[],
    now: readonly QuarantineEntry[],
  ): Promise<QuarantineEvent[]> {
    const kept = now.map(
      (entry) => before.find(({ uuid, code }) => uuid === entry.uuid && code === entry.code) ?? entry,
    );
    const added = kept.filter((entry) => !before.includes(entry));
    const cleared = before.filter(({ uuid }) => !kept.some((entry) => entry.uuid === uuid));
    if (added.length > 0 || cleared.length > 0) await this.write(kept);
    return [
      ...added.map((entry): QuarantineEvent => ({ type: "quarantined", entry })),
      ...cleared.map((entry): QuarantineEvent => ({ type: "cleared", entry })),
    ];
  }

  private async write(gpus: readonly QuarantineEntry[]): Promise<void> {
    try {
      await this.replaceFile(gpus);
    } catch (cause) {
      const problem = {
        code: "gpu.quarantine-file",
        message: `which GPUs are in quarantine cannot be written: ${(cause as Error).message}`,
        where: this.path,
        rule: "the runners of a host tell each other which GPUs are not to be used",
        remedy: "make the folder writable, or name another one, the same for every runner, with INFRADEV_GPU_DIR",
      };
      throw new InfraDevError("unavailable", problem, { cause });
    }
  }

  private async replaceFile(gpus: readonly QuarantineEntry[]): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    // Runners of several users share it; where another user made it, it has this mode already.
    await chmod(this.folder, 0o777).catch(() => undefined);
    const temporary = join(this.folder, `quarantine.${randomUUID()}.tmp`);
    try {
      await writeFile(temporary, `${JSON.stringify({ format: "infradev-quarantine/1", gpus }, null, 2)}\n`);
      await chmod(temporary, 0o666);
      await rename(temporary, this.path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }
}

/** Whether an entry is of this GPU. A PCI address has a domain of four digits in one place and of eight in another. */
function isOf({ uuid }: QuarantineEntry, gpu: Gpu): boolean {
  const key = unreadableKey(gpu.pciBus).toLowerCase();
  return uuid === gpu.uuid || key.endsWith(uuid.toLowerCase().replace(/^pci:/, ""));
}

/** Entries with those first whose GPUs are there. Without an inventory none is seen. */
export function sortSeen(entries: readonly QuarantineEntry[], inventory: GpuInventory | null): QuarantinedGpu[] {
  const seen = new Set([
    ...(inventory?.gpus.map(({ uuid }) => uuid) ?? []),
    ...(inventory?.unreadable.map(({ pciBus }) => unreadableKey(pciBus)) ?? []),
  ]);
  const marked = entries.map((entry) => ({ ...entry, isSeen: seen.has(entry.uuid) }));
  return [...marked.filter(({ isSeen }) => isSeen), ...marked.filter(({ isSeen }) => !isSeen)];
}

/** Why these GPUs are in quarantine, one sentence each. */
export const reasonsOf = (quarantined: readonly QuarantinedGpu[]): string[] =>
  quarantined.map(({ message, since, isSeen }) =>
    isSeen ? message : `not seen now, in quarantine since ${since}: ${message}`,
  );

/** A change of the quarantine as one line. */
export const describeQuarantine = ({ type, entry }: QuarantineEvent): string =>
  type === "quarantined"
    ? `GPU in quarantine: ${entry.message} (${entry.uuid}); ${entry.remedy}`
    : `GPU out of quarantine: ${entry.uuid} is healthy again`;
