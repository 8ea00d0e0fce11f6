import type { Board } from "@/lib/contract/api";
import { countWord, formatNumber, plural } from "@/lib/format/numbers";
import { columnChoices } from "@/lib/prepare/board-columns";
import {
  activeFilters,
  type BoardFilters,
  type FilterOption,
  type FilterOptions,
  filterOptions,
  noFilters,
} from "@/lib/prepare/board-filters";
import type { ShownBoard } from "@/lib/prepare/board-shown";
import { type BoardView, changedHref, defaultColumns, viewQuery } from "@/lib/prepare/board-view";

/** The rest of a view, so that a form that changes one part of it keeps the others. */
function Hidden({ view }: { view: BoardView }) {
  return viewQuery({ ...view, page: 1 }).map(([name, value]) => (
    <input key={name} type="hidden" name={name} value={value} />
  ));
}

function NameChoice(props: { name: string; label: string; options: readonly FilterOption[]; value: string | null }) {
  const { name, label, options, value } = props;
  if (options.length === 0) return null;
  return (
    <label>
      {label}
      <select name={name} defaultValue={value ?? ""}>
        <option value="">any</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.value} ({option.count})
          </option>
        ))}
      </select>
    </label>
  );
}

function Box(props: { name: string; value: string; checked: boolean; children: React.ReactNode }) {
  const { name, value, checked, children } = props;
  return (
    <label className="box">
      <input type="checkbox" name={name} value={value} defaultChecked={checked} />
      {children}
    </label>
  );
}

function EvidenceBoxes({ view, options }: { view: BoardView; options: FilterOptions }) {
  const { filters } = view;
  if (options.tiers.length === 0 && options.perTask === null) return null;
  return (
    <fieldset>
      <legend>Evidence</legend>
      {options.tiers.map(({ value, count }) => (
        <Box key={value} name="tier" value={value} checked={filters.tiers.includes(value)}>
          {value} <span className="count">{count}</span>
        </Box>
      ))}
      {options.perTask === null ? null : (
        <Box name="data" value="per-task" checked={filters.perTask}>
          with per-task data <span className="count">{options.perTask}</span>
        </Box>
      )}
    </fieldset>
  );
}

/** Filters that are set and that the form has no control for: it must not lose them. */
function withoutControl(filters: BoardFilters, options: FilterOptions): BoardFilters {
  return {
    model: null,
    organization: options.organization.length > 0 ? null : filters.organization,
    agent: options.agent.length > 0 ? null : filters.agent,
    effort: options.effort.length > 0 ? null : filters.effort,
    tiers: options.tiers.length > 0 ? [] : filters.tiers,
    perTask: options.perTask === null && filters.perTask,
    configuration: options.custom === null ? filters.configuration : null,
  };
}

/** A form that filters the rows by what they hold; it sends itself to the page as any form does. */
function FilterForm({ view, board }: { view: BoardView; board: Board }) {
  const options = filterOptions(board);
  const { filters } = view;
  return (
    <form method="get" action="/" className="tool-form">
      <Hidden view={{ ...view, filters: withoutControl(filters, options) }} />
      <label>
        Model contains
        <input type="search" name="model" defaultValue={filters.model ?? ""} maxLength={120} autoComplete="off" />
      </label>
      <NameChoice
        name="organization"
        label="Organization"
        options={options.organization}
        value={filters.organization}
      />
      <NameChoice name="agent" label="Agent" options={options.agent} value={filters.agent} />
      <NameChoice name="effort" label="Effort" options={options.effort} value={filters.effort} />
      {options.custom === null ? null : (
        <label>
          Configuration
          <select name="configuration" defaultValue={filters.configuration ?? ""}>
            <option value="">any</option>
            <option value="standard">the suite’s standard ({board.rows.length - options.custom})</option>
            <option value="custom">custom ({options.custom})</option>
          </select>
        </label>
      )}
      <EvidenceBoxes view={view} options={options} />
      <p className="tool-actions">
        <button type="submit">Apply</button>
        {activeFilters(filters).length > 0 ? <a href={changedHref(view, { filters: noFilters })}>Clear all</a> : null}
      </p>
    </form>
  );
}

/** A form that chooses columns. Those that no row fills are not offered, and stay as they are. */
function ColumnForm({ view, board }: { view: BoardView; board: Board }) {
  const choices = columnChoices(board);
  const kept = view.columns.filter((key) => !choices.some((choice) => choice.key === key));
  return (
    <form method="get" action="/" className="tool-form">
      <Hidden view={{ ...view, columns: defaultColumns }} />
      <input type="hidden" name="cols" value="" />
      {kept.map((key) => (
        <input key={key} type="hidden" name="cols" value={key} />
      ))}
      <fieldset>
        <legend>Beside rank set, model and % resolved</legend>
        {choices.map(({ key, name }) => (
          <Box key={key} name="cols" value={key} checked={view.columns.includes(key)}>
            {name}
          </Box>
        ))}
      </fieldset>
      <p className="tool-actions">
        <button type="submit">Apply</button>
        {view.columns === defaultColumns ? null : <a href={changedHref(view, { columns: defaultColumns })}>As given</a>}
      </p>
    </form>
  );
}

/** Filters and columns, each behind its name; one is open at a time. */
export function BoardTools({ view, board }: { view: BoardView; board: Board }) {
  const set = activeFilters(view.filters).length;
  return (
    <>
      {board.rows.length > 1 || set > 0 ? (
        <details className="tool" name="board-tools">
          <summary>Filter{set > 0 ? <span className="count"> {set}</span> : null}</summary>
          <FilterForm view={view} board={board} />
        </details>
      ) : null}
      {view.pareto || view.matrix ? null : (
        <details className="tool" name="board-tools">
          <summary>Columns</summary>
          <ColumnForm view={view} board={board} />
        </details>
      )}
    </>
  );
}

/** What the filters hide, each of them with a link that takes it away. */
export function FilterNote({ view, shown }: { view: BoardView; shown: ShownBoard }) {
  const active = activeFilters(view.filters);
  if (active.length === 0) return null;
  const all = shown.hidden + shown.rows.length;
  return (
    <div className="filter-note">
      <ul aria-label="Filters that are set">
        {active.map(({ key, label, value, without }) => (
          <li key={key}>
            <a href={changedHref(view, { filters: without })}>
              <span className="sr-only">Remove the filter </span>
              {label}: <bdi>{value}</bdi>
              <span className="chip-mark" aria-hidden="true" />
            </a>
          </li>
        ))}
      </ul>
      <p>
        {shown.hidden === 0
          ? `No row is hidden: all ${formatNumber(all)} are so.`
          : `${formatNumber(shown.hidden)} of ${formatNumber(all)} ${plural(all, "row")} hidden.`}{" "}
        Rank sets and the sentence above stay those of the whole board.{" "}
        <a href={changedHref(view, { filters: noFilters })}>Show every row</a>
      </p>
    </div>
  );
}

/** Rows that a ranking by official tests has to leave out. */
export function UnstatedNote({ shown, view }: { shown: ShownBoard; view: BoardView }) {
  const count = shown.unstated.length;
  if (count === 0) return null;
  return (
    <p className="aside">
      {count === 1 ? "One row does" : `${countWord(count)} rows do`.replace(/^\w/, (first) => first.toUpperCase())} not
      state what {plural(count, "it resolves", "they resolve")} by official tests alone over the whole suite, so{" "}
      {plural(count, "it is", "they are")} not shown. What a publication states of part of it stands under{" "}
      <a href="/published">published figures</a>. <a href={changedHref(view, { tests: "all" })}>Rank by all tests</a>
    </p>
  );
}
