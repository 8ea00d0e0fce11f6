import { z } from "zod";
import { wholeNumberSchema } from "./scalars";

/** Most lines that one answer of `GET /api/v1/gradings/{id}/lines/{path}` holds. */
export const mostLogLines = 1000;

/** Query of the lines of a file. */
export const logLinesQuerySchema = z.object({
  from: wholeNumberSchema(1, 10 ** 12 - 1)
    .optional()
    .describe("Number of the first line, from 1; 1 by default."),
  count: wholeNumberSchema(1, mostLogLines)
    .optional()
    .describe(`Lines at most; 300 by default, ${mostLogLines} at most.`),
});

export const logLineSchema = z.object({
  /** From 1. */
  number: z.int().positive(),
  /** The line's beginning, without its end; bytes that are not UTF-8 stand as U+FFFD, and control characters as they are. */
  text: z.string(),
  /** Length of the whole line in bytes. */
  bytes: z.int().nonnegative(),
  /** Whether `text` is less than the line. */
  cut: z.boolean(),
});

/** `GET /api/v1/gradings/{id}/lines/{path}`: lines of one file of a grading's payload. */
export const logLinesAnswerSchema = z.object({
  gradingId: z.uuid(),
  path: z.string(),
  sha256: z.string(),
  bytes: z.int().nonnegative(),
  /** Lines of the whole file; a last line without an end counts. */
  lineCount: z.int().nonnegative(),
  lines: z.array(logLineSchema),
});
export type LogLinesAnswer = z.infer<typeof logLinesAnswerSchema>;

/** A line as the log's page shows it: pieces with the classes that dress them. */
export interface ShownLine {
  number: number;
  pieces: { text: string; classes: string[] }[];
  bytes: number;
  cut: boolean;
}

/** What a file of a grading belongs to. */
export interface GradingPlace {
  gradingId: string;
  submissionId: string;
  suite: { slug: string; version: string; title: string };
  task: { slug: string; title: string };
  model: string;
}

/** A page of a log. */
export interface LogPage extends GradingPlace {
  path: string;
  bytes: number;
  lineCount: number;
  lines: ShownLine[];
}
