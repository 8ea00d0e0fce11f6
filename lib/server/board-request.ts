import "server-only";
import { z } from "zod";
import { displayNameSchema, slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";
import { promptConditions } from "@/lib/contract/vocabulary";
import { parseWith } from "./http";
import type { BoardRequest } from "./readers/board";

const querySchema = z.object({
  suite: slugSchema.default("infradev"),
  version: suiteVersionSchema.optional(),
  condition: z.enum(promptConditions).optional(),
  skill: displayNameSchema.optional(),
});

/** `?suite=&version=&condition=&skill=`, as the pages spell them. Throws `board.query`. */
export function readBoardRequest(query: URLSearchParams): BoardRequest {
  const given = Object.fromEntries(
    ["suite", "version", "condition", "skill"].flatMap((name) => {
      const value = query.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  const { suite, version, condition, skill } = parseWith(querySchema, given, {
    code: "board.query",
    what: "the board's query",
    where: "query",
    remedy: "see /api/v1/suites for the boards that there are",
  });
  return { suite, version, promptCondition: condition, skill };
}
