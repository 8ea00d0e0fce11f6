import parseDiff from "parse-diff";
import { chunkAnchor, DiffChunk } from "@/components/results/diff-chunk";
import { fileAnchor, fileName } from "@/components/results/patch-diff";
import type { FailureDetailAnswer } from "@/lib/contract/failures-api";
import { formatNumber, plural } from "@/lib/format/numbers";
import { type FailureBackground, touchedPlaces } from "@/lib/prepare/failure-page";

/** Lines of one hunk drawn at most. */
const hunkLines = 400;

/** Hunks of the patch that hold a line which the traceback passes through, with those lines. */
function touchedHunks(patch: string, places: readonly { file: string; line: number }[]) {
  const files = parseDiff(patch);
  const hunks = files.flatMap((file, fileIndex) =>
    file.chunks.flatMap((chunk, chunkIndex) => {
      const lines = places
        .filter(
          (place) =>
            place.file === file.to && place.line >= chunk.newStart && place.line < chunk.newStart + chunk.newLines,
        )
        .map(({ line }) => line);
      return lines.length > 0 ? [{ file, chunk, lines, anchor: chunkAnchor(fileIndex, chunkIndex) }] : [];
    }),
  );
  return { files, hunks };
}

/** Where the candidate's own lines stand in the traceback; else which files it changed. */
export function PatchHunks({ answer, background }: { answer: FailureDetailAnswer; background: FailureBackground }) {
  const { patch } = background;
  const { failure, frames } = answer;
  const { files, hunks } = touchedHunks(patch.text, touchedPlaces(frames));
  const whole = `/submissions/${failure.submissionId}/${failure.task.slug}`;
  return (
    <section aria-labelledby="patch">
      <h2 id="patch">Patch</h2>
      <p className="aside">
        {patch.text.trim() === ""
          ? "The patch is empty: the base code base was graded as it is."
          : hunks.length > 0
            ? `The traceback passes through ${hunks.length} of the patch’s hunks; its lines are marked.`
            : `No frame of the traceback lies in a line that the patch changed. It changes ${formatNumber(files.length)} ${plural(files.length, "file")}.`}{" "}
        {patch.truncated ? "A part of the patch is read here. " : ""}
        <a href={`${whole}#patch`}>The whole patch</a>
      </p>
      {hunks.map(({ file, chunk, lines, anchor }) => (
        <div key={anchor} className="diff-file">
          <p className="diff-head">
            <code>{fileName(file)}</code> <a href={`${whole}#${anchor}`}>in the whole patch</a>
          </p>
          <DiffChunk chunk={chunk} changes={chunk.changes.slice(0, hunkLines)} id={anchor} marked={lines} />
        </div>
      ))}
      {hunks.length === 0 && files.length > 0 ? (
        <ul className="patch-files">
          {files.slice(0, 50).map((file, place) => (
            <li key={`${file.from} ${file.to}`}>
              <a href={`${whole}#${fileAnchor(place)}`}>
                <code>{fileName(file)}</code>
              </a>{" "}
              <span className="diff-added">+{file.additions}</span>{" "}
              <span className="diff-deleted">−{file.deletions}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </section>
  );
}
