import { EntryName } from "@/components/failures/entry-name";
import { ShareBar } from "@/components/leaderboard/share-bar";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { SelfTestsAnswer } from "@/lib/contract/self-tests-api";
import { type EntryKind, entryKinds, type Property, properties } from "@/lib/contract/vocabulary";
import { capitalize, formatNumber, formatPct, missingValue, plural } from "@/lib/format/numbers";
import { entryHref } from "@/lib/prepare/entry-twins";
import { propertyLabels } from "@/lib/prepare/labels";
import { type AttemptShare, selfTestRuleWords, selfTestsLead } from "@/lib/prepare/self-tests";

const headings: Record<EntryKind, string> = {
  model: "Attempts of models",
  reference: "Attempts of reference sets",
};

/** Entries drawn at most; the API has every one. */
const drawnEntries = 200;

function ShareCell({ share, read }: { share: AttemptShare | undefined; read: number }) {
  if (!share || share.pct === null) return <td className="class-share">{missingValue}</td>;
  const { attempts, pct, interval } = share;
  return (
    <td className="class-share">
      <div className="share-cell">
        <span className="share-number">{formatPct(pct)}</span>
        <span className="count">
          {formatNumber(attempts)}/{formatNumber(read)}
        </span>
        <ShareBar share={{ resolved: attempts, total: read, pct, interval }} official={null} />
      </div>
    </td>
  );
}

/** Shares of the attempts of one kind; of models, what publications state of them beside. */
function PropertyTable({ kind, answer }: { kind: EntryKind; answer: SelfTestsAnswer }) {
  const counted = answer.kinds.find((one) => one.kind === kind);
  const published = kind === "model" ? answer.published : [];
  const read = counted?.read ?? 0;
  const rarely = (property: Property) =>
    published.some(({ rarelyChecked }) => rarelyChecked.includes(property)) ? "rarely" : missingValue;
  return (
    <ScrollRegion label={`Properties checked, ${headings[kind].toLowerCase()}`}>
      <table className={`plain shares-by self-tests${published.length > 0 ? "" : " two-columns"}`}>
        <caption className="sr-only">{headings[kind]}: share whose own tests check each property</caption>
        <thead>
          <tr>
            <th scope="col">Own tests check</th>
            <th scope="col" className="class-share">
              % of attempts
            </th>
            {published.length > 0 ? <th scope="col">Published</th> : null}
          </tr>
        </thead>
        <tbody>
          {properties.map((property) => (
            <tr key={property}>
              <th scope="row">
                {capitalize(propertyLabels[property])}
                <small>{selfTestRuleWords[property]}</small>
              </th>
              <ShareCell share={counted?.checks.find((one) => one.property === property)} read={read} />
              {published.length > 0 ? <td>{rarely(property)}</td> : null}
            </tr>
          ))}
          <tr>
            <th scope="row">
              Anything
              <small>A test function is added, or an assertion to a test.</small>
            </th>
            <ShareCell share={counted?.withTests} read={read} />
            {published.length > 0 ? <td>{missingValue}</td> : null}
          </tr>
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function EntryTable({ kind, answer }: { kind: EntryKind; answer: SelfTestsAnswer }) {
  const entries = answer.entries.filter(({ entry }) => entry.kind === kind);
  if (entries.length === 0) return null;
  return (
    <>
      <h3 className="self-tests-head">By entry</h3>
      <ScrollRegion label={`${headings[kind]} by entry`}>
        <table className="plain heat-table self-tests-entries">
          <caption className="sr-only">{headings[kind]} by entry: how many check each property</caption>
          <thead>
            <tr>
              <th scope="col">Entry</th>
              <th scope="col" className="num">
                Attempts
              </th>
              <th scope="col" className="num">
                With tests
              </th>
              {properties.map((property) => (
                <th key={property} scope="col" className="num">
                  {capitalize(propertyLabels[property])}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {entries.slice(0, drawnEntries).map(({ entry, read, withTests, checks }) => (
              <tr key={entry.slug} id={`entry-${entry.slug}`}>
                <th scope="row">
                  <a href={entryHref(entry.slug)}>
                    <EntryName entry={entry} />
                  </a>
                </th>
                <td className="num">{formatNumber(read)}</td>
                <td className="num">{formatNumber(withTests.attempts)}</td>
                {checks.map(({ property, attempts }) => (
                  <td key={property} className="num">
                    {formatNumber(attempts)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {entries.length > drawnEntries ? (
        <p className="aside">
          The first {drawnEntries} of {formatNumber(entries.length)} entries; every one is in the{" "}
          <a href="/api/v1/self-tests.csv">CSV</a>.
        </p>
      ) : null}
    </>
  );
}

function NotRead({ kind, answer }: { kind: EntryKind; answer: SelfTestsAnswer }) {
  const counted = answer.kinds.find((one) => one.kind === kind);
  const missing = counted ? counted.attempts - counted.read : 0;
  return missing > 0 ? (
    <p className="aside">
      Left out: {formatNumber(missing)} {plural(missing, "attempt")} whose patch is not graded yet or could not be read.
    </p>
  ) : null;
}

/** Which properties the tests check that agents add to their patches; reference sets apart. */
export function SelfTestsPage({ answer }: { answer: SelfTestsAnswer }) {
  return (
    <>
      <div className="page-head">
        <h1>What agents test themselves</h1>
        <p className="lead">{selfTestsLead(answer)}</p>
      </div>
      {entryKinds
        .filter((kind) => kind === "model" || answer.kinds.some((one) => one.kind === kind))
        .map((kind) => (
          <section key={kind} aria-labelledby={kind}>
            <h2 id={kind}>{headings[kind]}</h2>
            <PropertyTable kind={kind} answer={answer} />
            <NotRead kind={kind} answer={answer} />
            <EntryTable kind={kind} answer={answer} />
          </section>
        ))}
      <div className="notes">
        <p>
          Read from each attempt’s patch by rules {answer.rulesVersion}, by syntax alone: Python test functions that it
          adds, and assertions that it adds to tests. Strings and comments do not count. An attempt without tests of its
          own checks nothing and counts in every share. An attempt counts once under every property that it checks.
          Shares are lower bounds: a check that shows in values or in counted work only is overlooked, and what an agent
          ran without leaving it in its patch is not seen.
        </p>
        {answer.published.map(({ title, url }) => (
          <p key={url}>
            Published: <a href={url}>{title}</a> states that the tests which agents write rarely check memory, time or
            traffic; of its own models, without a figure.
          </p>
        ))}
      </div>
      <p className="source">
        <a href="/api/v1/self-tests">JSON</a> · <a href="/api/v1/self-tests.csv">CSV</a> ·{" "}
        <a href="/failures">Why attempts fail</a>
      </p>
    </>
  );
}
