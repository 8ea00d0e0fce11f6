import { readFile } from "node:fs/promises";
import { parse as parseToml, TomlError } from "smol-toml";
import { z } from "zod";
import { InfraDevError, problemFromZod } from "@/lib/contract/errors";
import { relativePathSchema, sha256Schema } from "@/lib/contract/scalars";
import { sha256Hex } from "../files";
import { upstreamProblem } from "./problems";

/**
 * One edit of the merged code. `replace = [first, last]` (lines from 1, both included) or `insert_before = line`;
 * `sha256` is the digest of the lines named, so that an edit is never laid over other code than it was written for, and
 * no line of upstream has to stand in the task.
 */
const editSchema = z
  .object({
    file: relativePathSchema,
    replace: z.tuple([z.int().min(1), z.int().min(1)]).optional(),
    insert_before: z.int().min(1).optional(),
    sha256: sha256Schema,
    text: z.string(),
  })
  .refine((edit) => (edit.replace === undefined) !== (edit.insert_before === undefined), {
    message: "give either replace or insert_before",
  })
  .refine(({ replace }) => replace === undefined || replace[0] <= replace[1], {
    message: "replace names its first line before its last",
  });
const editsFileSchema = z.object({ mistake: z.string().min(1), edits: z.array(editSchema).min(1) });
type Edit = z.infer<typeof editSchema>;
export type EditsFile = z.infer<typeof editsFileSchema>;

/** Reads a mutant written as edits. Throws `upstream.edits-form` with the place. */
export async function readEdits(path: string): Promise<EditsFile> {
  let document: unknown;
  try {
    document = parseToml(await readFile(path, "utf8"));
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    throw upstreamProblem("invalid", "edits-form", {
      message: `the mutant is not TOML: ${cause.message.split("\n")[0]}`,
      where: `${path}:${cause.line}:${cause.column}`,
      rule: "TOML 1.0",
      remedy: "correct the line named",
    });
  }
  const parsed = editsFileSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new InfraDevError(
    "invalid",
    problemFromZod(parsed.error, { code: "upstream.edits-form", what: "the mutant", where: path }),
  );
}

const rangeOf = (edit: Edit): [number, number] => edit.replace ?? [edit.insert_before ?? 1, edit.insert_before ?? 1];

/**
 * The text with a file's edits made; each names lines of the text as it was. Throws `upstream.edit-differs` where the
 * lines are not those that the edit was written for, and `upstream.edits-overlap`.
 * @param where the mutant's file
 */
export function applyEdits(text: string, edits: readonly Edit[], where: string): string {
  const lines = text.split(/(?<=\n)/);
  const ordered = [...edits].sort((a, b) => rangeOf(b)[0] - rangeOf(a)[0]);
  let untouched = Number.POSITIVE_INFINITY;
  for (const edit of ordered) {
    const [first, last] = rangeOf(edit);
    if (last >= untouched) {
      throw upstreamProblem("invalid", "edits-overlap", {
        message: `two edits of '${edit.file}' touch line ${last}`,
        where,
        rule: "edits of one file are apart",
        remedy: "join them",
      });
    }
    const found = sha256Hex(lines.slice(first - 1, last).join(""));
    if (last > lines.length || found !== edit.sha256) {
      throw upstreamProblem("conflict", "edit-differs", {
        message: `lines ${first} to ${last} of '${edit.file}' have the digest ${found}, the edit states ${edit.sha256}`,
        where,
        rule: "an edit is made to the lines that it was written for",
        remedy: "correct the lines or the digest; merge_commit decides what the file holds",
      });
    }
    untouched = first;
    const added = edit.text === "" || edit.text.endsWith("\n") ? edit.text : `${edit.text}\n`;
    lines.splice(first - 1, edit.replace === undefined ? 0 : last - first + 1, added);
  }
  return lines.join("");
}
