import { InfraDevError } from "@/lib/contract/errors";

type ErrorKind = ConstructorParameters<typeof InfraDevError>[0];

/** An error about a source that is read by reference; `code` is below `upstream.`. */
export function upstreamProblem(
  kind: ErrorKind,
  code: string,
  facts: { message: string; where: string; rule: string; remedy: string },
): InfraDevError {
  return new InfraDevError(kind, { code: `upstream.${code}`, ...facts });
}
