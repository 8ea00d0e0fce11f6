import { InfraDevError } from "@/lib/contract/errors";
import type { Group } from "@/lib/contract/task";

/** The file part of a test id. */
export const testFileOf = (id: string): string => id.split("::", 1)[0] ?? id;

const invalid = (code: string, message: string, where: string, rule: string, remedy: string): InfraDevError =>
  new InfraDevError("invalid", { code, message, where, rule, remedy });

/**
 * Variables that are the grader's own: what says who and where a rank is, how Python and pytest run, where evidence
 * goes, which GPUs are seen, and what a dynamic linker loads first.
 */
const graders =
  /^(?:PATH|HOME|TMPDIR|LANG|LC_.*|TZ|LD_.*|PYTHON.*|PYTEST.*|INFRADEV_.*|(?:LOCAL_|GROUP_|ROLE_)?(?:RANK|WORLD_SIZE)|ROLE_NAME|MASTER_.*|TORCHELASTIC_.*|OMP_NUM_THREADS|CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|NVIDIA_.*|NCCL_DEBUG(?:_FILE)?|NCCL_PROFILER_PLUGIN|TORCH_(?:NCCL_|FR_)(?:TRACE_BUFFER_SIZE|BUFFER_SIZE|DUMP_ON_TIMEOUT|WAIT_TIMEOUT_DUMP_MILSEC|DUMP_TEMP_FILE|DEBUG_INFO_\w+|ASYNC_ERROR_HANDLING))$/;

/** The first of a group's variables that is the grader's own, which a task cannot set; null where there is none. */
const refusedVariable = (group: Group): string | null =>
  Object.keys(group.env ?? {}).find((name) => graders.test(name)) ?? null;

/** Checks the launches that a task declares; `where` names its file. Throws `task.*` with field, rule and remedy. */
export function checkGroups(groups: readonly Group[], where: string): void {
  for (const [index, group] of groups.entries()) {
    const field = `${where}#metadata.infradev.groups.${index}`;
    if (groups.findIndex((other) => other.id === group.id) !== index) {
      throw invalid(
        "task.duplicate-group",
        `group '${group.id}' is declared twice`,
        field,
        "each group id once",
        "rename one",
      );
    }
    if (group.launcher === "pytest" && group.nproc !== 1) {
      throw invalid(
        "task.nproc",
        `group '${group.id}' asks for ${group.nproc} processes of the launcher 'pytest'`,
        `${field}.nproc`,
        "the launcher 'pytest' starts one process",
        "set nproc = 1, or use launcher 'ranks'",
      );
    }
    if (group.launcher === "script" && group.isolation !== "test") {
      throw invalid(
        "task.isolation",
        `group '${group.id}' runs programs with the isolation '${group.isolation}'`,
        `${field}.isolation`,
        "programs that share a launch share its port, and the ranks of two of them would meet",
        'set isolation = "test"',
      );
    }
    const refused = refusedVariable(group);
    if (refused !== null) {
      throw invalid(
        "task.env-refused",
        `group '${group.id}' sets ${refused}, which is the grader's own`,
        `${field}.env.${refused}`,
        "a group's variables stand beside the grader's and never above them",
        "remove it; a test that needs another value sets it for its own time",
      );
    }
  }
}

/** Checks that an id has the form that its group's launcher runs; `where` names its entry. Throws `task.test-id`. */
export function checkTestId(id: string, group: Group, where: string): void {
  const isFile = testFileOf(id) === id;
  if (group.launcher === "script") {
    if (isFile && /\.(?:py|sh)$/.test(id)) return;
    throw invalid(
      "task.test-id",
      `'${id}' is no program`,
      where,
      `the launcher of group '${group.id}' runs programs, whose ids are their files: tests/x.py or tests/x.sh`,
      "write the file's path, or use another launcher",
    );
  }
  if (isFile) {
    throw invalid(
      "task.test-id",
      `'${id}' is no pytest node id`,
      where,
      "an id is <file>::<name>",
      "write the id as pytest --collect-only prints it",
    );
  }
}
