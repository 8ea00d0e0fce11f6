import { ScrollRegion } from "@/components/ui/scroll-region";
import type { LabelAgreement } from "@/lib/contract/labels-api";
import { formatNumber, formatPctUnit, plural } from "@/lib/format/numbers";

type Pair = LabelAgreement["pairs"][number];
type Agreement = Pair["byType"];

const figure = (value: number | null) => (value === null ? "—" : value.toFixed(2).replace("-", "−"));

function Kappa({ of }: { of: Agreement }) {
  return (
    <>
      {figure(of.kappa)}{" "}
      {of.interval ? (
        <small>
          {figure(of.interval[0])} to {figure(of.interval[1])}
        </small>
      ) : null}
    </>
  );
}

function Pairs({ pairs, caption }: { pairs: Pair[]; caption: string }) {
  if (pairs.length === 0) return <p className="empty">Nobody yet.</p>;
  return (
    <ScrollRegion label={caption}>
      <table className="plain agreement">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Raters</th>
            <th scope="col" className="num">
              Failures
            </th>
            <th scope="col" className="num">
              Agree
            </th>
            <th scope="col" className="num">
              Kappa, type
            </th>
            <th scope="col" className="num">
              Kappa, class
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <tr key={`${pair.first} ${pair.second}`}>
              <th scope="row">
                <code>{pair.first}</code> and {pair.second === "rules" ? "the rules" : <code>{pair.second}</code>}
              </th>
              <td className="num">{formatNumber(pair.byType.n)}</td>
              <td className="num">
                {formatPctUnit(pair.byType.observed === null ? null : 100 * pair.byType.observed)}
              </td>
              <td className="num">
                <Kappa of={pair.byType} />
              </td>
              <td className="num">
                <Kappa of={pair.byClass} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** Kappa of every pair; the same for every reader. */
export function AgreementPage({ agreement }: { agreement: LabelAgreement }) {
  const { pairs, disagreements, labelled, rulesVersion } = agreement;
  const people = pairs.filter(({ second }) => second !== "rules");
  const rules = pairs.filter(({ second }) => second === "rules");
  return (
    <>
      <div className="page-head">
        <h1>Agreement of labels</h1>
        <p className="lead">
          {labelled === 0
            ? "No person has labelled a failure yet: every label is the rules’ own."
            : `People have labelled ${formatNumber(labelled)} ${plural(labelled, "failure")}. They differ on ${formatNumber(disagreements.open + disagreements.decided)}, of which a maintainer has decided ${formatNumber(disagreements.decided)}.`}
        </p>
        <p className="task-facts">
          <a href="/api/v1/labels/agreement">JSON</a> · every label with its history:{" "}
          <a href="/api/v1/labels.csv">CSV</a>, <a href="/api/v1/labels.jsonl">JSON lines</a> ·{" "}
          <a href="/label">Label failures</a>
        </p>
      </div>
      <h2>Between people</h2>
      <Pairs pairs={people} caption="Two people, over the failures that both labelled" />
      <h2>Between people and the rules</h2>
      <Pairs
        pairs={rules}
        caption={`A person and the rules${rulesVersion ? `, version ${rulesVersion}` : ""}, over the failures that the person labelled`}
      />
      <section className="prose" aria-labelledby="how">
        <h2 id="how">What these numbers mean</h2>
        <p>
          Kappa is the agreement beyond what the raters’ own frequencies would give by chance: 0 is chance, 1 is full
          agreement (Cohen 1960). Beside it stands its 95 % interval from the large-sample error (Fleiss, Cohen and
          Everitt 1969); it is left out below ten failures, and where a pair agrees or differs throughout, since that
          error is then no guide. Of each person the newest label that was not taken back counts; decisions of
          maintainers are no ratings.
        </p>
        <p>
          Those who label do not see what others, or the rules, said of a failure before they have given a label of
          their own. The pages of failures, which everybody may read, show it: independence rests on not looking there.
        </p>
        <p>
          The label that counts for a failure is a maintainer’s decision; else the label on which all agree who gave
          one; else the rule’s. Nothing is deleted: labels that were taken back stay in the export.
        </p>
      </section>
    </>
  );
}
