import { CopyLink } from "./copy-link";

/** A page in other forms, as plain links. */
export function ExportLinks({ href, name }: { href: (form: "" | ".csv" | ".md") => string; name: string }) {
  return (
    <details className="export">
      <summary>Export</summary>
      <ul>
        <li>
          <a href={href(".csv")} download={`${name}.csv`}>
            CSV
          </a>
        </li>
        <li>
          <a href={href("")}>JSON</a>
        </li>
        <li>
          <a href={href(".md")}>Markdown</a>
        </li>
        <li className="copy">
          <CopyLink />
        </li>
        <li>
          <a href="/docs/api">API</a>
        </li>
      </ul>
    </details>
  );
}
