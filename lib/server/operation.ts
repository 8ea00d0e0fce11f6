import "server-only";
import { apiOperations, listParameters } from "@/lib/contract/api-operations";
import { InfraDevError } from "@/lib/contract/errors";
import { respond } from "./http";

/**
 * Runs an operation of `/api/v1` by its id. A parameter that is given twice is refused, unless it is a list, and so is
 * one that an operation with a JSON answer does not know, so that no client takes a page or a filter for what it asked
 * for. Images and files are embedded and shared: what is added to their addresses on the way is ignored.
 */
export function respondTo(id: string, request: Request, route: () => Promise<Response>): Promise<Response> {
  return respond(async () => {
    requireQuery(id, request);
    return route();
  });
}

function requireQuery(id: string, request: Request): void {
  const operation = apiOperations.find((one) => one.id === id);
  if (!operation) throw new Error(`there is no operation ${id}`);
  const known = Object.keys(operation.query?.shape ?? {});
  const given = [...new URL(request.url).searchParams.keys()];
  const refusesUnknown = operation.answer.type === "application/json";
  const wrong = given.find((name, at) =>
    known.includes(name) ? given.indexOf(name) !== at && !listParameters.includes(name) : refusesUnknown,
  );
  if (wrong === undefined) return;
  const isKnown = known.includes(wrong);
  const name = wrong.slice(0, 80);
  const lists = known.filter((one) => listParameters.includes(one));
  const once = lists.length > 0 ? `each once at most, but for ${lists.join(" and ")}` : "each once at most";
  const takes = known.length > 0 ? `the parameters ${known.join(", ")}, ${once}` : "no parameters";
  throw new InfraDevError("invalid", {
    code: isKnown ? "request.repeated-parameter" : "request.unknown-parameter",
    message: isKnown ? `the parameter '${name}' is given twice` : `there is no parameter '${name}' here`,
    where: `query#${name}`,
    rule: `${operation.path} takes ${takes}`,
    remedy: isKnown ? "give it once" : "leave it out, or name one of them; /docs/api says what each does",
  });
}
