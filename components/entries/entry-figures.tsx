import { ShareBar } from "@/components/leaderboard/share-bar";
import type { EntryFigure, EntryStanding } from "@/lib/contract/entry-api";
import { formatInterval, formatNumber, formatPct, missingValue, plural } from "@/lib/format/numbers";
import { categoryLabels } from "@/lib/prepare/labels";

const labels: Record<EntryFigure["key"], { label: string; unit: string; decimals: number }> = {
  resolved: { label: "Resolved", unit: "%", decimals: 1 },
  official: { label: "Official tests alone", unit: "%", decimals: 1 },
  rejected: { label: "Rejected by probes", unit: "%", decimals: 1 },
  passed: { label: "Tests passed, mean", unit: "%", decimals: 1 },
  time: { label: "Time per task", unit: "min", decimals: 1 },
  cost: { label: "Cost per task", unit: "$", decimals: 2 },
  tokens: { label: "Tokens per task", unit: "M", decimals: 2 },
  steps: { label: "Steps per task", unit: "", decimals: 1 },
};

/** The counts behind a share, `14/36`. */
function countsOf({ row }: EntryStanding, key: EntryFigure["key"]): string | null {
  if (!row) return null;
  const share = key === "resolved" ? row.resolved : key === "official" ? row.officialResolved : null;
  if (share && share.resolved !== null) return `${share.resolved}/${share.total}`;
  return key === "rejected" && row.probeRejected
    ? `${row.probeRejected.rejected}/${row.probeRejected.officialResolved}`
    : null;
}

function intervalText({ interval, key }: EntryFigure): string {
  if (!interval) return missingValue;
  const { decimals } = labels[key];
  return `${formatNumber(interval[0], decimals)} to ${formatNumber(interval[1], decimals)}`;
}

/** How an interval was made, and over how many tasks. */
function methodText({ method, tasks }: EntryFigure, taskCount: number): string {
  if (!method) return "as published";
  if (method === "wilson") return "Wilson";
  return tasks === null || tasks === taskCount
    ? "bootstrap over tasks"
    : `bootstrap over ${tasks} ${plural(tasks, "task")} that state it`;
}

/** Every figure of the row with its interval and what that rests on. */
export function EntryFigures({ standing }: { standing: EntryStanding }) {
  const { figures, suite, row } = standing;
  const how = (figure: EntryFigure) =>
    row?.tier === "reported" || figure.method ? methodText(figure, suite.taskCount) : "of one task";
  return (
    <table className="plain entry-figures">
      <caption className="sr-only">Figures with their intervals</caption>
      <thead>
        <tr>
          <th scope="col">Figure</th>
          <th scope="col" className="num">
            Value
          </th>
          <th scope="col" className="num">
            95 % interval
          </th>
          <th scope="col">Interval by</th>
        </tr>
      </thead>
      <tbody>
        {figures.map((figure) => {
          const { label, unit, decimals } = labels[figure.key];
          const counts = countsOf(standing, figure.key);
          return (
            <tr key={figure.key}>
              <th scope="row">
                {label}
                {unit ? <span className="count">, {unit}</span> : null}
              </th>
              <td className="num" data-label={label}>
                {formatNumber(figure.value, decimals)}
                {counts ? <small>{counts}</small> : null}
              </td>
              <td className="num">{intervalText(figure)}</td>
              <td>{how(figure)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Resolved by category, with the official tests' share as a hollow bar behind it where it is stated. */
export function EntryCategories({ standing }: { standing: EntryStanding }) {
  const { row } = standing;
  if (!row || row.byCategory.length === 0) return null;
  const official = (category: string) =>
    row.officialByCategory?.find((one) => one.category === category)?.share ?? null;
  return (
    <table className="plain shares entry-categories">
      <caption className="sr-only">Resolved by category</caption>
      <thead>
        <tr>
          <th scope="col">Category</th>
          <th scope="col" className="num">
            Resolved
          </th>
          <th scope="col" className="num">
            %
          </th>
          <th scope="col" className="share-column">
            95 % interval
          </th>
          {row.officialByCategory ? (
            <th scope="col" className="num">
              Official alone
            </th>
          ) : null}
        </tr>
      </thead>
      <tbody>
        {row.byCategory.map(({ category, share }) => {
          const alone = official(category);
          return (
            <tr key={category}>
              <th scope="row">{categoryLabels[category]}</th>
              <td className="num">{share.resolved === null ? missingValue : `${share.resolved}/${share.total}`}</td>
              <td className="num">{share.total > 0 ? formatPct(share.pct) : missingValue}</td>
              <td>{share.total > 0 ? <ShareBar share={share} official={alone} /> : missingValue}</td>
              {row.officialByCategory ? (
                <td className="num">
                  {alone && alone.total > 0
                    ? alone.resolved === null
                      ? formatPct(alone.pct)
                      : `${alone.resolved}/${alone.total}`
                    : missingValue}
                </td>
              ) : null}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** pass@k and pass^k where attempts repeat. */
export function EntryRepeats({ repeats }: { repeats: NonNullable<EntryStanding["repeats"]> }) {
  return (
    <table className="plain">
      <caption className="sr-only">pass@k and pass^k</caption>
      <thead>
        <tr>
          <th scope="col" className="num">
            k
          </th>
          <th scope="col" className="num">
            pass@k<small>%, 95 % interval</small>
          </th>
          <th scope="col" className="num">
            pass^k<small>%, 95 % interval</small>
          </th>
        </tr>
      </thead>
      <tbody>
        {repeats.byK.map(({ k, passAt, passHat }) => (
          <tr key={k}>
            <th scope="row" className="num">
              {k}
            </th>
            {[passAt, passHat].map(({ pct, interval }, index) => (
              <td key={index === 0 ? "at" : "hat"} className="num">
                {formatPct(pct)}
                {interval ? <small>{formatInterval(interval)}</small> : null}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
