import parseDiff from "parse-diff";
import type { AttemptDetail } from "@/lib/contract/api";
import { formatBytes, plural } from "@/lib/format/numbers";
import { chunkAnchor, DiffChunk } from "./diff-chunk";

/** Lines drawn at most: beyond, the page says so and the whole patch is among the evidence. */
const lineLimit = 3000;

type File = ReturnType<typeof parseDiff>[number];

/** A file of a patch by its old and new names. */
export function fileName(file: File): string {
  if (file.to === "/dev/null") return `${file.from} (deleted)`;
  if (file.from === "/dev/null") return `${file.to} (new)`;
  return file.from === file.to ? (file.to ?? "") : `${file.from} → ${file.to}`;
}

/** Where a file stands on the page of its whole patch: its place in it. */
export const fileAnchor = (file: number) => `patch-file-${file + 1}`;

function DiffFile({ file, place, lines }: { file: File; place: number; lines: number }) {
  let left = lines;
  return (
    <details className="diff-file" id={fileAnchor(place)} open>
      <summary>
        <code>{fileName(file)}</code> <span className="diff-added">+{file.additions}</span>{" "}
        <span className="diff-deleted">−{file.deletions}</span>
      </summary>
      {file.chunks.map((chunk) => {
        const changes = chunk.changes.slice(0, Math.max(0, left));
        left -= changes.length;
        if (changes.length === 0) return null;
        return (
          <DiffChunk
            key={chunk.content}
            chunk={chunk}
            changes={changes}
            id={chunkAnchor(place, file.chunks.indexOf(chunk))}
          />
        );
      })}
    </details>
  );
}

/** The candidate's patch as graded, rendered on the server; text only, whatever it holds. */
export function PatchDiff({ attempt }: { attempt: AttemptDetail["attempt"] }) {
  const files = parseDiff(attempt.patch);
  const total = files.reduce(
    (sum, file) => sum + file.chunks.reduce((lines, chunk) => lines + chunk.changes.length, 0),
    0,
  );
  let left = lineLimit;
  return (
    <section aria-labelledby="patch">
      <h2 id="patch">Patch</h2>
      <p className="aside">
        {attempt.patch.trim() === ""
          ? "The patch is empty: the base code base was graded as it is."
          : `${files.length} ${plural(files.length, "file")}, ${formatBytes(new TextEncoder().encode(attempt.patch).length)}, sha256 `}
        {attempt.patch.trim() === "" ? null : <code>{attempt.patchSha256}</code>}
        {attempt.patchTruncated || total > lineLimit ? " Shown in part; the whole patch is in the bundle." : ""}
      </p>
      {files.map((file, place) => {
        const lines = file.chunks.reduce((sum, chunk) => sum + chunk.changes.length, 0);
        const shown = Math.max(0, Math.min(lines, left));
        left -= shown;
        return <DiffFile key={`${file.from} ${file.to}`} file={file} place={place} lines={shown} />;
      })}
      {files.length === 0 && attempt.patch.trim() !== "" ? <pre className="commands">{attempt.patch}</pre> : null}
    </section>
  );
}
