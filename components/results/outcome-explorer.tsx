"use client";

import {
  columnFilteringFeature,
  createColumnHelper,
  createFilteredRowModel,
  createSortedRowModel,
  functionalUpdate,
  rowSortingFeature,
  type SortingState,
  sortFn_basic,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type OutcomeStatus, outcomeStatuses, properties, testKinds } from "@/lib/contract/vocabulary";
import { formatNumber } from "@/lib/format/numbers";
import { propertyLabels, statusLabels, testKindLabels } from "@/lib/prepare/labels";
import {
  defaultOutcomeView,
  matchesText,
  type OutcomeRow,
  type OutcomeSort,
  type OutcomeView,
  outcomeQuery,
  outcomeSeverity,
  outcomeSorts,
  parseOutcomeView,
  shownText,
} from "@/lib/prepare/outcomes";
import { OutcomeTable } from "./outcome-table";

const features = tableFeatures({
  columnFilteringFeature,
  filteredRowModel: createFilteredRowModel(),
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const helper = createColumnHelper<typeof features, OutcomeRow>();
const columns = helper.columns([
  helper.accessor("kind", { filterFn: (row, _, kind) => row.original.kind === kind }),
  helper.accessor("id", {
    id: "test",
    sortFn: (a, b) => a.original.id.localeCompare(b.original.id, "en"),
    filterFn: (row, _, text) => matchesText(row.original, String(text)),
  }),
  helper.accessor((row) => (row.property ? propertyLabels[row.property] : undefined), {
    id: "checks",
    sortFn: sortFn_basic,
    sortUndefined: "last",
    filterFn: (row, _, property) => row.original.property === property,
  }),
  helper.accessor("expectation", { sortFn: sortFn_basic }),
  helper.accessor((row) => outcomeSeverity[row.status], {
    id: "outcome",
    sortFn: sortFn_basic,
    filterFn: (row, _, status) => row.original.status === status,
  }),
  helper.accessor((row) => row.durationMs ?? undefined, { id: "time", sortFn: sortFn_basic, sortUndefined: "last" }),
]);

/** The view that the address asks for. Before scripts run, and so in the page's HTML, it is the default. */
function useAddressView(): { view: OutcomeView; ready: boolean; change: (view: OutcomeView) => void } {
  const [view, setView] = useState(defaultOutcomeView);
  const [ready, setReady] = useState(false);
  useLayoutEffect(() => {
    const read = () => setView(parseOutcomeView(new URLSearchParams(window.location.search)));
    read();
    setReady(true);
    window.addEventListener("popstate", read);
    return () => window.removeEventListener("popstate", read);
  }, []);
  return {
    view,
    ready,
    change: (next) => {
      setView(next);
      const { pathname, hash } = window.location;
      window.history.replaceState(null, "", `${pathname}${outcomeQuery(next)}${hash}`);
    },
  };
}

function Filter({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label>
      <span>{label}</span>
      {children}
    </label>
  );
}

/** A choice among the words that some test has, each with its count; the word chosen stays, even where no test has it. */
function WordFilter<T extends string>(props: {
  label: string;
  /** Its key in the address. */
  name: string;
  every: string;
  words: readonly T[];
  labels: Record<T, string>;
  value: T | null;
  count: (word: T) => number;
  onChange: (value: T | null) => void;
}) {
  const { label, name, every, words, labels, value, count, onChange } = props;
  return (
    <Filter label={label}>
      <select
        name={name}
        autoComplete="off"
        value={value ?? ""}
        onChange={(event) => onChange(words.find((word) => word === event.target.value) ?? null)}
      >
        <option value="">{every}</option>
        {words
          .filter((word) => word === value || count(word) > 0)
          .map((word) => (
            <option key={word} value={word}>
              {labels[word]} ({formatNumber(count(word))})
            </option>
          ))}
      </select>
    </Filter>
  );
}

const worstFirst: readonly OutcomeStatus[] = [...outcomeStatuses].sort(
  (a, b) => outcomeSeverity[a] - outcomeSeverity[b],
);

/**
 * The tests of an attempt with what each rank said, filtered and sorted in the browser, the view in the address. The
 * page's HTML holds every test in its first order, which is all that a reader without scripts needs.
 */
export function OutcomeExplorer({ rows }: { rows: readonly OutcomeRow[] }) {
  const { view, ready, change } = useAddressView();
  const search = useRef<HTMLInputElement>(null);
  const sorting = useMemo<SortingState>(
    () => (view.sort ? [{ id: view.sort, desc: view.direction === "desc" }] : []),
    [view.sort, view.direction],
  );
  const columnFilters = useMemo(
    () =>
      [
        { id: "kind", value: view.kind },
        { id: "outcome", value: view.status },
        { id: "checks", value: view.property },
        { id: "test", value: view.text.trim() },
      ].filter(({ value }) => value),
    [view.kind, view.status, view.property, view.text],
  );
  const table = useTable({
    features,
    columns,
    data: rows,
    getRowId: (row) => row.id,
    state: { sorting, columnFilters },
    sortDescFirst: false,
    enableMultiSort: false,
    onSortingChange: (updater) => {
      const [first] = functionalUpdate(updater, sorting);
      const sort = outcomeSorts.find((one) => one === first?.id) ?? null;
      change({ ...view, sort, direction: sort && first?.desc ? "desc" : "asc" });
    },
  });
  const shown = table.getRowModel().rows.map((row) => row.original);
  const counted = (is: (row: OutcomeRow) => boolean) => rows.filter(is).length;

  const header = (sort: OutcomeSort, label: ReactNode) =>
    ready ? (
      <button type="button" onClick={() => table.getColumn(sort)?.toggleSorting()}>
        {label}
      </button>
    ) : (
      label
    );
  const sorted = (sort: OutcomeSort) =>
    view.sort === sort ? (view.direction === "desc" ? "descending" : "ascending") : undefined;

  return (
    <>
      <search className="outcome-filters" aria-label="Tests" data-later={ready ? undefined : "on"}>
        <Filter label="Text">
          <input
            ref={search}
            type="search"
            name="text"
            autoComplete="off"
            placeholder="name or requirement"
            value={view.text}
            onChange={(event) => change({ ...view, text: event.target.value })}
          />
        </Filter>
        <WordFilter
          label="Kind"
          name="kind"
          every="both kinds"
          words={testKinds}
          labels={testKindLabels}
          value={view.kind}
          count={(kind) => counted((row) => row.kind === kind)}
          onChange={(kind) => change({ ...view, kind })}
        />
        <WordFilter
          label="Outcome"
          name="status"
          every="any outcome"
          words={worstFirst}
          labels={statusLabels}
          value={view.status}
          count={(status) => counted((row) => row.status === status)}
          onChange={(status) => change({ ...view, status })}
        />
        <WordFilter
          label="Checks"
          name="property"
          every="any property"
          words={properties}
          labels={propertyLabels}
          value={view.property}
          count={(property) => counted((row) => row.property === property)}
          onChange={(property) => change({ ...view, property })}
        />
        <p className="shown" aria-live="polite">
          {shownText(shown.length, rows.length)}
        </p>
        <button
          type="button"
          className="clear"
          disabled={columnFilters.length === 0}
          onClick={() => {
            change({ ...defaultOutcomeView, sort: view.sort, direction: view.direction });
            // This button goes away with what it cleared, and would take the focus with it.
            search.current?.focus();
          }}
        >
          Clear filters
        </button>
      </search>
      {testKinds.map((kind) => (
        <OutcomeTable
          key={kind}
          kind={kind}
          all={rows.filter((row) => row.kind === kind)}
          shown={shown.filter((row) => row.kind === kind)}
          header={header}
          sorted={sorted}
        />
      ))}
    </>
  );
}
