import { z } from "zod";
import { type FailureRow, unclassified } from "./failures-api";
import { evidenceSpanSchema } from "./result";
import { slugSchema, suiteVersionSchema, uuidSchema } from "./scalars";
import { testIdSchema } from "./task";

/** A failure by its grading and the number of its test in the manifest, from 1. */
export type FailureAddress = FailureRow["address"];

/** Longest note beside a label, in characters. Notes are published. */
export const noteLimit = 1000;

/** Most failures that one act labels. */
export const batchLimit = 1000;

/** Most labels that one export holds; more are refused, never cut. */
export const labelExportLimit = 100_000;

/** Who gave labels: a person by the public name, or the rules. */
export const raterOfRules = "rules";

/** Fields of the form behind `/label`, as a form sends them. */
export const labelFormSchema = z.object({
  grading: uuidSchema,
  test: z.string().regex(/^[1-9]\d{0,5}$/, "expected the test's number in the manifest"),
  type: z.string().min(1).max(80),
  /** Also every failure of the same cluster that the person has not labelled. */
  cluster: z.literal("yes").optional(),
  /** A maintainer's decision between labels. */
  adjudicate: z.literal("yes").optional(),
  note: z
    .string()
    .max(noteLimit, `a note has at most ${noteLimit} characters`)
    .transform((note) => note.trim())
    .optional(),
  /** Words of the message that the label is read from; the first place where they stand counts if `from` is left out. */
  quote: z.string().max(2000).optional(),
  from: z
    .string()
    .regex(/^\d{1,6}$/, "expected a place in the message")
    .optional(),
  /** The address to go on to. */
  next: z.string().max(2000).optional(),
  /** The address of this failure's page of labelling. */
  here: z.string().max(2000).optional(),
});
export type LabelForm = z.infer<typeof labelFormSchema>;

/** What a script gets in place of a redirection. */
export const labelAnswerSchema = z.object({ labelled: z.int(), next: z.string() });
export type LabelAnswer = z.infer<typeof labelAnswerSchema>;

/** One label of a failure that a person has labelled, the rule's too: the history of `/api/v1/labels.jsonl`. */
export const exportedLabelSchema = z.object({
  id: z.int(),
  at: z.string(),
  grading: z.uuid(),
  testNumber: z.int().min(1),
  test: testIdSchema,
  suite: slugSchema,
  suiteVersion: suiteVersionSchema,
  task: slugSchema,
  submission: z.uuid(),
  entry: slugSchema,
  class: z.string(),
  type: z.string(),
  tags: z.array(z.string()),
  source: z.enum(["rule", "person"]),
  /** The rule's id, or the person's public name. */
  by: z.string(),
  rulesVersion: z.string().nullable(),
  confidence: z.string().nullable(),
  evidence: evidenceSpanSchema.nullable(),
  note: z.string().nullable(),
  /** Labels that were given in one act carry one word. */
  batch: z.uuid().nullable(),
  /** A maintainer's decision between labels. */
  adjudicates: z.boolean(),
  /** When its giver took it back; it counts nowhere since. */
  withdrawnAt: z.string().nullable(),
  /** Whether it is the label that counts for its failure now. */
  counts: z.boolean(),
});
export type ExportedLabel = z.infer<typeof exportedLabelSchema>;

const agreementSchema = z.object({
  /** Failures that both labelled. */
  n: z.int(),
  /** Share on which they agree, of 1; null where n is 0. */
  observed: z.number().nullable(),
  /** Share that chance would give, of 1; null where n is 0. */
  expected: z.number().nullable(),
  /** Cohen's kappa; null where n is 0, and where both gave everything one type. */
  kappa: z.number().nullable(),
  /** Large-sample 95 % interval; null below 10 failures, and where they agree or differ throughout. */
  interval: z.tuple([z.number(), z.number()]).nullable(),
});

/** `GET /api/v1/labels/agreement`. */
export const labelAgreementSchema = z.object({
  rulesVersion: z.string().nullable().describe("The newest version of the rules that labelled one of these failures."),
  pairs: z.array(
    z.object({
      /** Public name of a person. */
      first: z.string(),
      /** Public name of another person, or `rules`. */
      second: z.string(),
      byType: agreementSchema,
      byClass: agreementSchema,
      /** How often the first said one type and the second another or the same. */
      table: z.array(z.object({ first: z.string(), second: z.string(), count: z.int() })),
    }),
  ),
  /** Failures that people label differently, by whether a maintainer has decided. */
  disagreements: z.object({ open: z.int(), decided: z.int() }),
  /** Failures that at least one person has labelled. */
  labelled: z.int(),
});
export type LabelAgreement = z.infer<typeof labelAgreementSchema>;

/** A person's word that no type of the taxonomy fits. */
export const noType = { class: unclassified, type: unclassified } as const;
