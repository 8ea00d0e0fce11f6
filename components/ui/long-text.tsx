import { plural } from "@/lib/format/numbers";
import { visibleText } from "@/lib/format/visible-text";

const lineLimit = 24;

/** Text as it came, its first lines shown and the rest one click away. */
export function LongText({ text }: { text: string }) {
  const lines = visibleText(text).split("\n");
  const rest = lines.slice(lineLimit);
  return (
    <div className="message">
      <pre>{lines.slice(0, lineLimit).join("\n")}</pre>
      {rest.length > 0 ? (
        <details>
          <summary>
            {rest.length} more {plural(rest.length, "line")}
          </summary>
          <pre>{rest.join("\n")}</pre>
        </details>
      ) : null}
    </div>
  );
}
