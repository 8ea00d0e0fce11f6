import "server-only";
import { apiOperations } from "@/lib/contract/api-operations";
import { InfraDevError } from "@/lib/contract/errors";
import { respond } from "./http";

/**
 * Runs an operation of `/api/v1` by its id. A parameter that it does not know, or that is given twice, is refused, so
 * that no client takes a page or a filter for what it asked for.
 */
export function respondTo(id: string, request: Request, route: () => Promise<Response>): Promise<Response> {
  return respond(async () => {
    requireKnownQuery(id, request);
    return route();
  });
}

function requireKnownQuery(id: string, request: Request): void {
  const operation = apiOperations.find((one) => one.id === id);
  if (!operation) throw new Error(`there is no operation ${id}`);
  const known = Object.keys(operation.query?.shape ?? {});
  const given = [...new URL(request.url).searchParams.keys()];
  const wrong = given.find((name, at) => !known.includes(name) || given.indexOf(name) !== at);
  if (wrong === undefined) return;
  const isKnown = known.includes(wrong);
  const name = wrong.slice(0, 80);
  const takes = known.length > 0 ? `the parameters ${known.join(", ")}` : "no parameters";
  throw new InfraDevError("invalid", {
    code: isKnown ? "request.repeated-parameter" : "request.unknown-parameter",
    message: isKnown ? `the parameter '${name}' is given twice` : `there is no parameter '${name}' here`,
    where: `query#${name}`,
    rule: `${operation.path} takes ${takes}${known.length > 0 ? ", each once at most" : ""}`,
    remedy: isKnown ? "give it once" : "leave it out, or name one of them; /docs/api says what each does",
  });
}
