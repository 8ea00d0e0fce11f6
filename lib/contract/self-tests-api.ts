import { z } from "zod";
import { boardRowSchema } from "./api";
import { entryKinds, promptConditions, properties } from "./vocabulary";

/** Attempts among those that were read; percentage and interval are null where none was. */
const attemptShareSchema = z.object({
  attempts: z.int(),
  pct: z.number().nullable(),
  /** 95 % Wilson interval in per cent; null where several entries are pooled, which try the same tasks. */
  interval: z.tuple([z.number(), z.number()]).nullable(),
});

const countsSchema = z.object({
  /** Attempts of the submissions that boards show. */
  attempts: z.int(),
  /** Those whose patch was read. */
  read: z.int(),
  /** Test functions that their patches add. */
  tests: z.int(),
  /** Attempts that add a test function, or an assertion to a test. */
  withTests: attemptShareSchema,
  /** Attempts whose added tests check the property, over every attempt that was read. Every property, in one order. */
  checks: z.array(attemptShareSchema.extend({ property: z.enum(properties) })),
  /** Attempts whose trajectory was read. */
  trajectories: z.int(),
  /** Calls of a shell in them. */
  commands: z.int(),
  /** Attempts one of whose commands runs tests, over every trajectory that was read. */
  withTestRuns: attemptShareSchema,
  /** Attempts whose commands check the property, over every trajectory that was read. Every property, in one order. */
  commandChecks: z.array(attemptShareSchema.extend({ property: z.enum(properties) })),
});

/** `GET /api/v1/self-tests`. */
export const selfTestsAnswerSchema = z.object({
  rulesVersion: z.string(),
  kinds: z.array(countsSchema.extend({ kind: z.enum(entryKinds) })),
  entries: z.array(
    countsSchema.extend({
      entry: boardRowSchema.shape.entry.extend({
        promptCondition: z.enum(promptConditions),
        skill: z.string().nullable(),
      }),
    }),
  ),
  /** What publications state of the tests that agents write; no figures were published. */
  published: z.array(z.object({ title: z.string(), url: z.string(), rarelyChecked: z.array(z.enum(properties)) })),
});
export type SelfTestsAnswer = z.infer<typeof selfTestsAnswerSchema>;

/** What is counted of one entry before shares are drawn from it. */
export type EntrySelfTestFacts = Pick<SelfTestsAnswer["entries"][number], "entry"> & {
  attempts: number;
  read: number;
  tests: number;
  withTests: number;
  /** Attempts by property; one that none checks is left out. */
  checks: Readonly<Record<string, number>>;
  trajectories: number;
  commands: number;
  withTestRuns: number;
  commandChecks: Readonly<Record<string, number>>;
};
