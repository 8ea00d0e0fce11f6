import type { FailureFilter } from "@/lib/contract/failures-api";
import { formatNumber, plural } from "@/lib/format/numbers";
import { failuresHref } from "@/lib/prepare/failure-view";
import { labelHref } from "@/lib/prepare/label-view";
import { LabelStatus, UndoForm } from "./label-desk";

const here = (filter: FailureFilter) => labelHref({ filter, at: null, adjudicate: false });

/** Nothing of the queue is open: there is no form, so that no key can change a label. */
export function QueueFinished({ filter, total, first }: { filter: FailureFilter; total: number; first: string }) {
  const cases =
    total === 1
      ? "The one case of this filter is"
      : `All ${formatNumber(total)} ${plural(total, "case")} of this filter are`;
  return (
    <section aria-labelledby="finished" className="label-end">
      <LabelStatus />
      <h2 id="finished">{cases} labelled by you</h2>
      <div className="label-steps">
        <a href={first}>Look at them again</a>
        <a href="#filters">Change the filter</a>
        <a href="/label/disagreements">Disagreements</a>
        <UndoForm here={here(filter)} />
      </div>
    </section>
  );
}

/** No failure answers the filter, with what the queue holds at all. */
export function QueueEmpty({ filter }: { filter: FailureFilter }) {
  const moves = filter.type ?? filter.class ?? filter.tag ?? filter.reviewed;
  return (
    <section aria-labelledby="empty-queue" className="label-end">
      <LabelStatus />
      <h2 id="empty-queue">No failure answers these filters</h2>
      <p>
        Only failures of published models’ submissions stand in the queue, on the newest version of each suite. Those of
        hidden probes are not labelled: nothing of them may be read. Failures of reference sets are looked at on{" "}
        <a href={failuresHref({ filter: { entryKind: "reference" } })}>the page of failures</a>.
      </p>
      {moves === undefined ? null : (
        <p>This filter goes by labels: a failure leaves it once its label says something else.</p>
      )}
      <div className="label-steps">
        {Object.keys(filter).length > 0 ? <a href="/label">The whole queue</a> : null}
        <a href="/label/disagreements">Disagreements</a>
        <UndoForm here={here(filter)} />
      </div>
    </section>
  );
}
