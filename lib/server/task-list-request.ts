import "server-only";
import { z } from "zod";
import { slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";
import { parseWith } from "./http";

const querySchema = z.object({
  suite: slugSchema.nullable(),
  version: suiteVersionSchema.nullable(),
});

/** `?suite=&version=`, as the pages spell them; null where left out. Throws `tasks.query`. */
export function readTaskListRequest(query: URLSearchParams): z.infer<typeof querySchema> {
  return parseWith(
    querySchema,
    { suite: query.get("suite"), version: query.get("version") },
    {
      code: "tasks.query",
      what: "the query of a list of tasks",
      where: "query",
      rule: "parameters have the forms that /docs/api lists",
      remedy: "see /api/v1/suites for the suites and versions that there are",
    },
  );
}
