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

/** Shares of the attempts of one kind: by patches, by commands where any are known, and what publications state. */
function PropertyTable({ kind, answer }: { kind: EntryKind; answer: SelfTestsAnswer }) {
  const counted = answer.kinds.find((one) => one.kind === kind);
  const published = kind === "model" ? answer.published : [];
  const read = counted?.read ?? 0;
  const trajectories = counted?.trajectories ?? 0;
  const columns = 2 + (trajectories > 0 ? 1 : 0) + (published.length > 0 ? 1 : 0);
  const rarely = (property: Property) =>
    published.some(({ rarelyChecked }) => rarelyChecked.includes(property)) ? "rarely" : missingValue;
  return (
    <ScrollRegion label={`Properties checked, ${headings[kind].toLowerCase()}`}>
      <table
        className={`plain shares-by self-tests${columns === 2 ? " two-columns" : ""}${trajectories > 0 ? " with-commands" : ""}`}
      >
        <caption className="sr-only">
          {headings[kind]}: share whose own tests{trajectories > 0 ? " and commands" : ""} check each property
        </caption>
        <thead>
          <tr>
            <th scope="col">{trajectories > 0 ? "Checked" : "Own tests check"}</th>
            <th scope="col" className="class-share">
              {trajectories > 0 ? "By own tests, % of attempts" : "% of attempts"}
            </th>
            {trajectories > 0 ? (
              <th scope="col" className="class-share">
                By commands, % of trajectories
              </th>
            ) : null}
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
              {trajectories > 0 ? (
                <ShareCell
                  share={counted?.commandChecks.find((one) => one.property === property)}
                  read={trajectories}
                />
              ) : null}
              {published.length > 0 ? <td>{rarely(property)}</td> : null}
            </tr>
          ))}
          <tr>
            <th scope="row">
              Anything
              <small>
                A test function is added, or an assertion to a test.
                {trajectories > 0 ? " By commands: any tests are run." : ""}
              </small>
            </th>
            <ShareCell share={counted?.withTests} read={read} />
            {trajectories > 0 ? <ShareCell share={counted?.withTestRuns} read={trajectories} /> : null}
            {published.length > 0 ? <td>{missingValue}</td> : null}
          </tr>
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** What an entry's attempts check: by the tests that patches add, or by the commands that agents ran. */
function EntryRows({
  kind,
  entries,
  by,
}: {
  kind: EntryKind;
  entries: SelfTestsAnswer["entries"];
  by: "patch" | "commands";
}) {
  const patch = by === "patch";
  const what = patch ? "own tests" : "commands";
  return (
    <ScrollRegion label={`${headings[kind]} by entry: ${what}`}>
      <table className="plain heat-table self-tests-entries">
        <caption className="sr-only">
          {headings[kind]} by entry: how many check each property by {what}
        </caption>
        <thead>
          <tr>
            <th scope="col">Entry</th>
            <th scope="col" className="num">
              {patch ? "Patches read" : "Trajectories read"}
            </th>
            <th scope="col" className="num">
              {patch ? "With tests" : "Run tests"}
            </th>
            {properties.map((property) => (
              <th key={property} scope="col" className="num">
                {capitalize(propertyLabels[property])}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.slice(0, drawnEntries).map(({ entry, ...counts }) => (
            <tr key={entry.slug} {...(patch ? { id: `entry-${entry.slug}` } : {})}>
              <th scope="row">
                <a href={entryHref(entry.slug)}>
                  <EntryName entry={entry} />
                </a>
              </th>
              <td className="num">{formatNumber(patch ? counts.read : counts.trajectories)}</td>
              <td className="num">{formatNumber((patch ? counts.withTests : counts.withTestRuns).attempts)}</td>
              {(patch ? counts.checks : counts.commandChecks).map(({ property, attempts }) => (
                <td key={property} className="num">
                  {formatNumber(attempts)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function EntryTable({ kind, answer }: { kind: EntryKind; answer: SelfTestsAnswer }) {
  const entries = answer.entries.filter(({ entry }) => entry.kind === kind);
  if (entries.length === 0) return null;
  const told = entries.filter(({ trajectories }) => trajectories > 0);
  return (
    <>
      <h3 className="self-tests-head">By entry{told.length > 0 ? ", own tests" : ""}</h3>
      <EntryRows kind={kind} entries={entries} by="patch" />
      {told.length > 0 ? (
        <>
          <h3 className="self-tests-head">By entry, commands</h3>
          <EntryRows kind={kind} entries={told} by="commands" />
        </>
      ) : null}
      {entries.length > drawnEntries ? (
        <p className="aside">
          The first {drawnEntries} of {formatNumber(entries.length)} entries; every one is in the{" "}
          <a href="/api/v1/self-tests.csv">CSV</a>.
        </p>
      ) : null}
    </>
  );
}

function WhatWasRead({ kind, answer }: { kind: EntryKind; answer: SelfTestsAnswer }) {
  const counted = answer.kinds.find((one) => one.kind === kind);
  if (!counted) return null;
  const missing = counted.attempts - counted.read;
  return (
    <p className="aside">
      Of {formatNumber(counted.attempts)} {plural(counted.attempts, "attempt")}, {formatNumber(counted.read)}{" "}
      {plural(counted.read, "patch was", "patches were")} read, and {formatNumber(counted.trajectories)}{" "}
      {plural(counted.trajectories, "trajectory", "trajectories")}
      {counted.trajectories > 0
        ? ` with ${formatNumber(counted.commands)} ${plural(counted.commands, "command")}`
        : ": none came with an attempt"}
      .
      {missing > 0
        ? ` Left out: ${formatNumber(missing)} ${plural(missing, "attempt")} whose patch is not graded yet or could not be read.`
        : ""}
    </p>
  );
}

/** Which properties agents check themselves, by tests that their patches add and by what they ran; reference sets apart. */
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
            <WhatWasRead kind={kind} answer={answer} />
            <EntryTable kind={kind} answer={answer} />
          </section>
        ))}
      <div className="notes self-tests-notes">
        <p>
          Read from each attempt’s patch by rules {answer.rulesVersion}, by syntax alone: Python test functions that it
          adds, and assertions that it adds to tests. Strings and comments do not count. An attempt without tests of its
          own checks nothing and counts in every share. An attempt counts once under every property that it checks.
          Shares are lower bounds: a check that shows in values or in counted work only is overlooked.
        </p>
        <p>
          Where an attempt came with its trajectory, its calls of a shell are read too: Python code that is run from the
          command line, from a here-document or from a script that the agent wrote, by the same rules, and programs that
          measure (<code>time</code>, <code>perf stat</code>, <code>nvidia-smi</code> asked for memory in use). A
          resource counts where its measure is asserted or printed, everything else where it is asserted. Running tests
          that were there before checks nothing of the agent’s own. A command that only searches, shows or writes what
          would check does not count.
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
