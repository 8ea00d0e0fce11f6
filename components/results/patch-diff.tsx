import parseDiff from "parse-diff";
import type { AttemptDetail } from "@/lib/contract/api";
import { formatBytes, plural } from "@/lib/format/numbers";

/** Lines drawn at most: beyond, the page says so and the whole patch is among the evidence. */
const lineLimit = 3000;

type File = ReturnType<typeof parseDiff>[number];

function fileName(file: File): string {
  if (file.to === "/dev/null") return `${file.from} (deleted)`;
  if (file.from === "/dev/null") return `${file.to} (new)`;
  return file.from === file.to ? (file.to ?? "") : `${file.from} → ${file.to}`;
}

function DiffFile({ file, lines }: { file: File; lines: number }) {
  let left = lines;
  return (
    <details className="diff-file" open>
      <summary>
        <code>{fileName(file)}</code> <span className="diff-added">+{file.additions}</span>{" "}
        <span className="diff-deleted">−{file.deletions}</span>
      </summary>
      {file.chunks.map((chunk) => {
        const changes = chunk.changes.slice(0, Math.max(0, left));
        left -= changes.length;
        if (changes.length === 0) return null;
        return (
          <table key={chunk.content} className="diff">
            <caption className="sr-only">{chunk.content}</caption>
            <thead className="sr-only">
              <tr>
                <th scope="col">Old line</th>
                <th scope="col">New line</th>
                <th scope="col">Change</th>
                <th scope="col">Text</th>
              </tr>
            </thead>
            <tbody>
              <tr className="diff-chunk">
                <td colSpan={4}>{chunk.content}</td>
              </tr>
              {changes.map((change, index) => {
                const sign = change.type === "add" ? "+" : change.type === "del" ? "−" : "";
                return (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a line of a diff is its position
                  <tr key={index} className={`diff-${change.type}`}>
                    <td className="diff-number">
                      {change.type === "normal" ? change.ln1 : change.type === "del" ? change.ln : ""}
                    </td>
                    <td className="diff-number">
                      {change.type === "normal" ? change.ln2 : change.type === "add" ? change.ln : ""}
                    </td>
                    <td className="diff-sign">{sign}</td>
                    <td className="diff-text">{change.content.slice(1)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
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
      {files.map((file) => {
        const lines = file.chunks.reduce((sum, chunk) => sum + chunk.changes.length, 0);
        const shown = Math.max(0, Math.min(lines, left));
        left -= shown;
        return <DiffFile key={`${file.from} ${file.to}`} file={file} lines={shown} />;
      })}
      {files.length === 0 && attempt.patch.trim() !== "" ? <pre className="commands">{attempt.patch}</pre> : null}
    </section>
  );
}
