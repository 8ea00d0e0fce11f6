import type { Chunk } from "parse-diff";
import { visibleText } from "@/lib/format/visible-text";

/** Where a chunk stands on the page of its whole patch: places of the file and of the chunk in it. */
export const chunkAnchor = (file: number, chunk: number) => `hunk-${file + 1}-${chunk + 1}`;

/** One hunk of a patch as a table; text only, whatever it holds. `marked`: lines of the new file that stand out. */
export function DiffChunk({
  chunk,
  changes,
  id,
  marked = [],
}: {
  chunk: Chunk;
  changes: Chunk["changes"];
  id: string;
  marked?: readonly number[];
}) {
  return (
    <table className="diff" id={id}>
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
          const newLine = change.type === "normal" ? change.ln2 : change.type === "add" ? change.ln : null;
          const stands = newLine !== null && marked.includes(newLine);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line of a diff is its position
            <tr key={index} className={`diff-${change.type}${stands ? " diff-marked" : ""}`}>
              <td className="diff-number">
                {change.type === "normal" ? change.ln1 : change.type === "del" ? change.ln : ""}
              </td>
              <td className="diff-number">{newLine ?? ""}</td>
              <td className="diff-sign">{sign}</td>
              <td className="diff-text">{visibleText(change.content.slice(1))}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
