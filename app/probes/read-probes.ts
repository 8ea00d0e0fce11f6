import { type ProbesAnswer, probesQuerySchema } from "@/lib/contract/probes-api";
import { defaultProbesView } from "@/lib/prepare/probes-view";
import { found, parseQuery } from "@/lib/server/http";
import { findProbes } from "./find-probes";

/** What a request of the API asks for, by the reader of its page. Throws `probes.query` or `probes.unknown`. */
export async function readProbes(request: Request): Promise<ProbesAnswer> {
  const { suite, version, condition, skill } = parseQuery(request, probesQuerySchema, {
    code: "probes.query",
    what: "the query of what the probes reject",
    remedy: "see /docs/api for the parameters, and /api/v1/suites for the boards that there are",
  });
  const view = {
    suite: suite ?? null,
    version: version ?? null,
    condition: condition ?? defaultProbesView.condition,
    skill: skill ?? null,
  };
  const asked = [suite, version, condition, skill].filter(Boolean).join(" ") || "suite";
  return found(await findProbes(view), "probes.unknown", asked).answer;
}
