import { z } from "zod";

/**
 * What every refusal says, on the terminal, over HTTP and in the log: what is wrong, where it stands, which rule it
 * breaks and how to mend it. `code` is stable and dotted (`bundle.digest-mismatch`); tests and clients rely on it.
 */
export const problemSchema = z.object({
  code: z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/),
  message: z.string(),
  where: z.string().optional(),
  rule: z.string().optional(),
  remedy: z.string().optional(),
});
export type Problem = z.infer<typeof problemSchema>;

export const problemResponseSchema = z.object({ error: problemSchema });

/** Kinds that a transport maps once: HTTP status, or the exit code of a command. */
export type ErrorKind =
  | "invalid"
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "conflict"
  | "gone"
  | "too-large"
  | "unavailable"
  | "internal";

const httpStatusOf: Record<ErrorKind, number> = {
  invalid: 422,
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  conflict: 409,
  gone: 410,
  "too-large": 413,
  unavailable: 503,
  internal: 500,
};

/** The one error of the project's own making. Anything else that is thrown is a defect. */
export class InfraDevError extends Error {
  override readonly name = "InfraDevError";
  readonly kind: ErrorKind;
  readonly problem: Problem;

  constructor(kind: ErrorKind, problem: Problem, options?: { cause?: unknown }) {
    super(problem.message, options);
    this.kind = kind;
    this.problem = problem;
  }

  get code(): string {
    return this.problem.code;
  }

  get httpStatus(): number {
    return httpStatusOf[this.kind];
  }

  /** One paragraph for a terminal: message, place, rule, remedy. */
  describe(): string {
    const { code, message, where, rule, remedy } = this.problem;
    return [
      `${message} [${code}]`,
      where && `  where:  ${where}`,
      rule && `  rule:   ${rule}`,
      remedy && `  remedy: ${remedy}`,
    ]
      .filter(Boolean)
      .join("\n");
  }
}

/** Turns the first issue of a failed zod parse into a problem that names the field. */
export function problemFromZod(
  error: z.ZodError,
  subject: { code: string; what: string; where?: string; rule?: string; remedy?: string },
): Problem {
  const issue = error.issues[0];
  const field = issue?.path.map(String).join(".") ?? "";
  const more = error.issues.length > 1 ? ` (and ${error.issues.length - 1} more)` : "";
  return {
    code: subject.code,
    message: `${subject.what}: ${field ? `field '${field}': ` : ""}${issue?.message ?? "does not have the expected form"}${more}`,
    ...(subject.where || field ? { where: [subject.where, field].filter(Boolean).join("#") } : {}),
    rule: subject.rule ?? "the document must match its published schema",
    remedy: subject.remedy ?? "correct the named field and try again",
  };
}
