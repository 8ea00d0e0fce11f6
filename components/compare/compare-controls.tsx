import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import { SuiteNav } from "@/components/leaderboard/suite-nav";
import type { CompareAnswer } from "@/lib/contract/compare-api";
import { type CompareView, compareHref, compareTwinHref } from "@/lib/prepare/compare-view";
import { optionText } from "@/lib/prepare/compare-words";
import { ExportLinks } from "./export-links";

type Option = CompareAnswer["entries"][number];

function Options({ label, entries }: { label: string; entries: readonly Option[] }) {
  if (entries.length === 0) return null;
  return (
    <optgroup label={label}>
      {entries.map((entry) => (
        <option key={entry.slug} value={entry.slug}>
          {optionText(entry)}
        </option>
      ))}
    </optgroup>
  );
}

function EntrySelect({
  side,
  chosen,
  entries,
}: {
  side: "a" | "b";
  chosen: string | null;
  entries: readonly Option[];
}) {
  const models = entries.filter(({ kind }) => kind === "model");
  return (
    <label>
      <span className="side">
        <span className="sr-only">Entry </span>
        {side.toUpperCase()}
      </span>
      <select key={chosen} name={side} defaultValue={chosen ?? ""} required autoComplete="off">
        <option value="">Choose an entry</option>
        <Options label="Entries" entries={models.filter(({ provisional }) => !provisional)} />
        <Options label="Provisional" entries={models.filter(({ provisional }) => provisional)} />
        <Options label="Reference patch sets" entries={entries.filter(({ kind }) => kind === "reference")} />
      </select>
    </label>
  );
}

/** Suite and the two entries: links and a form that is an address, so that none needs JavaScript. */
export function CompareControls({
  answer,
  view,
  suites,
}: {
  answer: CompareAnswer;
  view: CompareView;
  suites: readonly SuiteChoice[];
}) {
  const { suite, a, b, state } = answer;
  return (
    <div className="controls compare-controls">
      <SuiteNav suites={suites} suite={suite} suiteHref={(slug) => compareHref({ suite: slug })} />
      {answer.entries.length > 1 ? (
        <form action="/compare" method="get" className="compare-form" aria-label="Two entries">
          <EntrySelect side="a" chosen={a?.slug ?? null} entries={answer.entries} />
          <EntrySelect side="b" chosen={b?.slug ?? null} entries={answer.entries} />
          <input type="hidden" name="suite" value={suite.slug} />
          {view.version ? <input type="hidden" name="version" value={view.version} /> : null}
          <button type="submit" className="action">
            Compare
          </button>
        </form>
      ) : null}
      <div className="tab-line">
        <p className="suite-facts">
          {state === "compared" ? <a href={compareHref({ ...view, a: view.b, b: view.a })}>Swap A and B</a> : null}
          {state === "compared" ? " · " : null}
          <a href={`/?suite=${suite.slug}&version=${suite.version}`}>
            Leaderboard of {suite.title} {suite.version}
          </a>
        </p>
        <ExportLinks
          href={(form) => compareTwinHref(view, form)}
          name={["compare", view.a, view.b].filter(Boolean).join("-")}
        />
      </div>
    </div>
  );
}
