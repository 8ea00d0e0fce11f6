import { z } from "zod";
import { hostFactsSchema } from "@/lib/contract/result";
import { instantSchema } from "@/lib/contract/scalars";
import { executors, gradingStatuses } from "@/lib/contract/vocabulary";
import type { VerificationKey } from "@/lib/evidence/dsse";
import type { Signer } from "@/lib/evidence/keys";
import { readSignedReport, writeSignedReport } from "../suites/signed-report";

/** One of the gradings that ask for GPUs from two pools; GPUs by nvidia-smi's index, times since the first one asked. */
const packedSchema = z.object({
  pool: z.string(),
  asked: z.int().positive(),
  gpus: z.array(z.int()),
  askedMs: z.number(),
  startedMs: z.number(),
  endedMs: z.number(),
  resolved: z.boolean(),
});
export type Packed = z.infer<typeof packedSchema>;

/** What a host run saw beside the gate's reports (see README.md). Signed, one per run. */
const hostRunSchema = z.object({
  format: z.literal("infradev-host-run/1"),
  runnerVersion: z.string(),
  executor: z.enum(executors),
  gpus: z.int().nonnegative(),
  host: hostFactsSchema,
  startedAt: instantSchema,
  finishedAt: instantSchema,
  selftest: z
    .object({
      controlResolved: z.boolean(),
      results: z.array(z.object({ name: z.string(), verdict: z.string(), seen: z.string(), durationMs: z.number() })),
    })
    .nullable(),
  /** What the grader said of two ranks that do known things; null where it was not run. */
  collectives: z
    .object({
      gpus: z.int().nonnegative(),
      status: z.enum(gradingStatuses),
      rows: z.array(
        z.object({
          test: z.string(),
          expected: z.string(),
          observed: z.string(),
          holds: z.boolean(),
          rootRank: z.int().nullable(),
          evidence: z.array(z.string()),
          durationMs: z.number().nullable(),
          /** What the rank said that failed first, or the one whose words are expected; what NCCL's recorder held. */
          said: z.string().optional(),
          recording: z.string().optional(),
        }),
      ),
      /** NCCL's ranks without room in /dev/shm; null where no ranks talk through NCCL in a sandbox. */
      withoutSharedMemory: z
        .object({
          status: z.enum(gradingStatuses),
          reason: z.string().nullable(),
          said: z.array(z.string()),
          holds: z.boolean(),
        })
        .nullable()
        .default(null),
      traffic: z.array(
        z.object({ test: z.string(), meter: z.string(), bytes: z.number(), theoreticalBytes: z.number() }),
      ),
      memory: z.object({ heldMb: z.number(), nvmlMb: z.number().nullable(), allocatorMb: z.number().nullable() }),
    })
    .nullable()
    .default(null),
  /** Gradings of half of the GPUs and of all that asked two pools for them; null where it was not run. */
  packing: z
    .object({
      gradings: z.array(packedSchema),
      problems: z.array(z.string()),
    })
    .nullable()
    .default(null),
  /**
   * Each call that made gradings: how many, and what was left on the host at its end that was not there before; null
   * for what nobody looked at, since the call was ended before.
   */
  calls: z
    .array(
      z.object({
        gradings: z.int().nonnegative(),
        processes: z.array(z.string()).nullable(),
        paths: z.array(z.string()).nullable(),
        gpuMemoryMb: z.number().nullable(),
      }),
    )
    .default([]),
  overhead: z
    .array(
      z.object({
        task: z.string(),
        launches: z.int(),
        handMs: z.array(z.number()),
        launchMs: z.array(z.number()),
        gradingMs: z.array(z.number()),
      }),
    )
    .default([]),
});
export type HostRun = z.infer<typeof hostRunSchema>;

const hostRunPayloadType = "application/vnd.infradev.host-run+json";

/** Writes the report as a signed envelope, whole or not at all. */
export const writeHostRun = (path: string, report: HostRun, signer: Signer): Promise<void> =>
  writeSignedReport(path, hostRunPayloadType, report, signer);

/** The report at `path`, null where there is none. Throws what `readSignedReport` throws (`host-run.*`). */
export async function readHostRun(path: string, keys: readonly VerificationKey[]): Promise<HostRun | null> {
  try {
    return await readSignedReport(path, keys, {
      prefix: "host-run",
      payloadType: hostRunPayloadType,
      schema: hostRunSchema,
      remedy: "name a folder that 'runner host-run' wrote (--out), or a new one",
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
