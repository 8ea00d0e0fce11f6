import { join } from "node:path";
import { z } from "zod";
import { InfraDevError } from "../../lib/contract/errors";
import { runCommand } from "../stack";

/** What the demo reads of `runner doctor --json`. */
const examinationSchema = z.object({
  checks: z.array(
    z.object({
      id: z.string(),
      state: z.enum(["ok", "note", "missing"]),
      found: z.string(),
      remedy: z.string().nullable(),
      code: z.string().nullable(),
      where: z.string().nullable(),
    }),
  ),
  can: z.object({ gradeSandboxed: z.boolean(), gradeUnsandboxed: z.boolean() }),
});
type HostCheck = z.infer<typeof examinationSchema>["checks"][number];

export interface ExecutorChoice {
  executor: "bwrap" | "process";
  /** Why there is no sandbox although none was declined; null where there is one or none was wanted. */
  withoutSandbox: { reason: string; remedy: string } | null;
}

export interface ExecutorQuestion {
  /** The runner's command line. */
  runner: string[];
  dataDir: string;
  env: Record<string, string>;
  /** The executor that was asked for by name. */
  asked: string | undefined;
}

/**
 * Asks the runner what this machine can do, before anything is started. Throws, with the code and the remedy that the
 * runner gives, where it cannot grade, or not with the executor that was asked for. Patches of the demo are the suite's
 * own, so a machine without a sandbox grades them without one.
 */
export async function chooseExecutor({ runner, dataDir, env, asked }: ExecutorQuestion): Promise<ExecutorChoice> {
  if (asked !== undefined && asked !== "bwrap" && asked !== "process")
    throw new InfraDevError("invalid", {
      code: "demo.executor",
      message: `there is no executor '${asked}'`,
      where: "--executor",
      rule: "an executor is bwrap or process",
      remedy: "correct the name, or leave the option out",
    });
  const printed = await runCommand(
    "runner doctor",
    [...runner, "doctor", "--install-pytest", "--json", "--data", join(dataDir, "runner")],
    env,
    join(dataDir, "logs", "doctor.log"),
    [0, 1],
  );
  const { checks, can } = examinationSchema.parse(JSON.parse(printed));
  const missing = (...ids: string[]) => checks.find(({ id, state }) => ids.includes(id) && state === "missing");
  if (!can.gradeUnsandboxed)
    throw refusal(
      missing("node", "python", "pytest", "git", "disk", "data"),
      "the demo grades on this machine: it needs Python 3.10 or newer with pytest 7 or newer, git, and space for checkouts",
    );
  if (asked === "process" || can.gradeSandboxed) return { executor: asked ?? "bwrap", withoutSandbox: null };
  const lacking = missing("bwrap", "namespaces");
  if (asked === "bwrap") throw refusal(lacking, "the executor 'bwrap' needs bubblewrap and user namespaces");
  return {
    executor: "process",
    withoutSandbox: { reason: lacking?.found ?? "no sandbox works here", remedy: lacking?.remedy ?? "see the doctor" },
  };
}

function refusal(check: HostCheck | undefined, rule: string): InfraDevError {
  return new InfraDevError("unavailable", {
    code: check?.code ?? "demo.host",
    message: check?.found ?? "this machine cannot grade",
    where: check?.where ?? "this machine",
    rule,
    remedy: check?.remedy ?? "'npm run runner -- doctor' says what is missing",
  });
}
