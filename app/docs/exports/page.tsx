import type { Metadata } from "next";
import { DocumentHead } from "@/components/docs/document-head";
import { FileTable } from "@/components/docs/file-table";
import { findDocument } from "@/lib/prepare/documents";

export const ensureStatic = "navigation";

const { title, summary } = findDocument("/docs/exports");

export const metadata: Metadata = { title, description: summary };

const exports = [
  ["/api/v1/board.csv", "rows and columns as shown, numbers unrounded"],
  ["/api/v1/board", "the whole board as JSON: rank sets, intervals, pairs, reference sets"],
  ["/api/v1/board.md", "a Markdown table, rounded as on the page"],
  ["/api/v1/board.bib", "the publication behind reported rows, for a bibliography"],
  ["/api/v1/board.svg", "% resolved with intervals as a figure for papers and slides"],
] as const;

export default function Page() {
  return (
    <div className="prose">
      <DocumentHead title={title} lead={summary} />
      <h2 id="board">The board</h2>
      <p>
        The export menu of a board holds the view that is shown: the query of the page and of its exports is the same.
      </p>
      <FileTable caption="Forms of a board" files={exports} head={["Address", "What it holds"]} />
      <pre className="commands">{`curl -fL "https://<this site>/api/v1/board.csv?suite=infradev" -o board.csv`}</pre>
      <p>
        Every answer has an <code>ETag</code>; asked with <code>If-None-Match</code>, the site says whether it still
        holds. Other origins may read. <a href="/docs/api">API</a> lists every address and the form of its answer.
      </p>

      <h2 id="charts">Charts</h2>
      <p>Below a chart, “SVG” and “PNG” save it as it is drawn, with its title, source and date in the file.</p>

      <h2 id="feed">Feed</h2>
      <p>
        <a href="/feed.xml">/feed.xml</a> is an Atom feed of what changed: submissions published or graded, regrades and
        invalidations with their reasons.
      </p>

      <h2 id="badges">Badges</h2>
      <p>
        <code>/badge/{"<entry>"}.svg</code> shows the rank set and % resolved of an entry’s newest submission,{" "}
        <code>/badge/{"<submission id>"}.svg</code> those of one submission. A badge changes with its board.
      </p>
      <pre className="commands">
        {"[![InfraDev](https://<this site>/badge/<entry>.svg)](https://<this site>/entries/<entry>)"}
      </pre>

      <h2 id="cite">Citing</h2>
      <p>
        Name suite and version, prompt condition, the rank set beside any percentage, the tier of the row, and the date.
        A task’s address names the suite’s version and never comes to mean another; a submission’s address is its own.
      </p>
    </div>
  );
}
