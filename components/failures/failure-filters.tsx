import type { FailureOverview } from "@/lib/contract/failures-api";
import { outcomeStatuses, properties, testKinds } from "@/lib/contract/vocabulary";
import {
  type FailureFilterKey,
  type FailureView,
  failureFilterKeys,
  failuresHref,
  filterLabels,
  filterValueLabel,
  type groupingLabels,
  withoutFilter,
} from "@/lib/prepare/failure-view";

type Options = readonly { value: string; label: string }[];

const wordOptions = (key: FailureFilterKey, words: readonly string[]): Options =>
  words.map((value) => ({ value, label: filterValueLabel(key, value) }));

/** What the form offers: values that occur, and the words of the field. */
function fieldsOf(choices: FailureOverview): { key: FailureFilterKey; label: string; options: Options }[] {
  const groups = (by: keyof typeof groupingLabels) =>
    (choices.groups[by] ?? []).map(({ key, label }) => ({
      value: key,
      label: by === "taskType" || by === "condition" ? filterValueLabel(by, key) : label,
    }));
  const { types } = choices.total;
  return [
    { key: "repository", label: "Repository", options: groups("repository") },
    { key: "category", label: "Category", options: groups("category") },
    { key: "taskType", label: "Task type", options: groups("taskType") },
    { key: "model", label: "Model", options: groups("model") },
    { key: "entry", label: "Entry", options: groups("entry") },
    { key: "condition", label: "Prompt", options: groups("condition") },
    { key: "class", label: "Class", options: wordOptions("class", [...new Set(types.map((one) => one.class))]) },
    { key: "type", label: "Type", options: wordOptions("type", [...new Set(types.map((one) => one.type))]) },
    { key: "property", label: "Test checks", options: wordOptions("property", properties) },
    { key: "kind", label: "Tests", options: wordOptions("kind", testKinds) },
    {
      key: "status",
      label: "Outcome",
      options: wordOptions(
        "status",
        outcomeStatuses.filter((status) => status !== "passed"),
      ),
    },
    { key: "reviewed", label: "Labelled by a person", options: wordOptions("reviewed", ["yes", "no"]) },
  ];
}

/** Filters that are on, each a link that takes it off. */
export function FilterChips({ view, page }: { view: FailureView; page: "failures" | "clusters" }) {
  const on = failureFilterKeys.filter((key) => view.filter[key] !== undefined);
  if (on.length === 0) return null;
  return (
    <div className="filter-note">
      <ul aria-label="Filters that are on">
        {on.map((key) => (
          <li key={key}>
            <a href={failuresHref(withoutFilter(view, key), page)} rel="nofollow">
              {filterLabels[key]}: <bdi>{filterValueLabel(key, view.filter[key] ?? "")}</bdi>
              <span className="chip-mark" />
              <span className="sr-only">, take this filter off</span>
            </a>
          </li>
        ))}
      </ul>
      <a href={failuresHref({ by: view.by }, page)}>Clear all</a>
    </div>
  );
}

/** The filters as a form that works without scripts. `choices`: the overview without these filters. */
export function FilterForm({
  view,
  choices,
  page,
}: {
  view: FailureView;
  choices: FailureOverview;
  page: "failures" | "clusters";
}) {
  const fields = fieldsOf(choices);
  const shown = new Set(fields.map(({ key }) => key));
  const kept = failureFilterKeys.filter((key) => !shown.has(key) && view.filter[key] !== undefined);
  return (
    <details className="failure-filter">
      <summary>Filter</summary>
      <form action={page === "failures" ? "/failures" : "/failures/clusters"} method="get" className="tool-form">
        {kept.map((key) => (
          <input key={key} type="hidden" name={key} value={view.filter[key]} />
        ))}
        {page === "failures" ? <input type="hidden" name="by" value={view.by} /> : null}
        {fields.map(({ key, label, options }) => (
          <label key={key}>
            {label}
            <select name={key} defaultValue={view.filter[key] ?? ""}>
              <option value="">any</option>
              {options.map((option) => (
                <option key={option.value} value={option.value}>
                  {option.label}
                </option>
              ))}
            </select>
          </label>
        ))}
        <p className="tool-actions">
          <button type="submit">Apply</button>
        </p>
      </form>
    </details>
  );
}
