import { slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";
import type { TaskListItem } from "@/lib/contract/task-api";
import { type Category, categories, type TaskType, taskTypes } from "@/lib/contract/vocabulary";

/** `suite` is the suite's own order. */
const taskSorts = [
  "suite",
  "task",
  "category",
  "type",
  "gpus",
  "official",
  "probes",
  "resolved",
  "discrimination",
] as const;
export type TaskSort = (typeof taskSorts)[number];
type Direction = "asc" | "desc";

/** Direction of a column's first sort: names and resources ascend. */
const firstDirection: Record<TaskSort, Direction> = {
  suite: "asc",
  task: "asc",
  category: "asc",
  type: "asc",
  gpus: "asc",
  official: "desc",
  probes: "desc",
  resolved: "desc",
  discrimination: "desc",
};

/** By who resolves a task: some ranked entries and not all, one alone, none, or every one. */
const taskShows = ["discriminating", "alone", "never", "all"] as const;
export type TaskShow = (typeof taskShows)[number];

/** What the address of a list of tasks asks for. `suite` null is the first suite that has tasks, `version` null its newest. */
export interface TaskListView {
  suite: string | null;
  version: string | null;
  sort: TaskSort;
  direction: Direction;
  category: Category | null;
  type: TaskType | null;
  show: TaskShow | null;
  /** Slug of an entry: tasks that it alone resolves. */
  only: string | null;
}

export const defaultTaskListView: TaskListView = {
  suite: null,
  version: null,
  sort: "suite",
  direction: "asc",
  category: null,
  type: null,
  show: null,
  only: null,
};

const wordIn = <T extends string>(words: readonly T[], value: string | null | undefined): T | null =>
  words.find((word) => word === value) ?? null;

/** Reads a view from query parameters; what no suite, version or column can be called falls back to the default. */
export function parseTaskListView(query: URLSearchParams): TaskListView {
  const suite = slugSchema.safeParse(query.get("suite"));
  const version = suiteVersionSchema.safeParse(query.get("version"));
  const sort = wordIn(taskSorts, query.get("sort")) ?? defaultTaskListView.sort;
  return {
    suite: suite.data ?? null,
    version: version.data ?? null,
    sort,
    direction: sort === "suite" ? "asc" : (wordIn(["asc", "desc"], query.get("dir")) ?? firstDirection[sort]),
    category: wordIn(categories, query.get("category")),
    type: wordIn(taskTypes, query.get("type")),
    show: wordIn(taskShows, query.get("show")),
    only: slugSchema.safeParse(query.get("only")).data ?? null,
  };
}

const filterNames = ["category", "type", "show", "only"] as const;

/** The address of a list of tasks: only what differs from the default stands in it. */
export function taskListHref(view: Partial<TaskListView>): string {
  const { suite, version, sort, direction, ...filters } = { ...defaultTaskListView, ...view };
  const query = new URLSearchParams();
  if (suite) query.set("suite", suite);
  if (version) query.set("version", version);
  if (sort !== defaultTaskListView.sort) query.set("sort", sort);
  if (direction !== firstDirection[sort]) query.set("dir", direction);
  for (const name of filterNames) if (filters[name]) query.set(name, filters[name]);
  const text = query.toString();
  return text ? `/tasks?${text}` : "/tasks";
}

const absent = "-";

/** The internal path under which a view is rendered and kept as a page of its own (see `viewPath` of boards). */
export function taskListPath({ suite, version, sort, direction, ...filters }: TaskListView): string {
  const filter = filterNames.map((name) => filters[name] ?? absent).join("/");
  return `/task-list/${suite ?? absent}/${version ?? absent}/${sort}/${direction}/${filter}`;
}

/** Reads the segments of `taskListPath`; null where they are not what it writes. */
export function parseTaskListPath(segments: readonly string[]): TaskListView | null {
  const [suite, version, sort, direction, ...filters] = segments;
  const query = new URLSearchParams();
  if (suite && suite !== absent) query.set("suite", suite);
  if (version && version !== absent) query.set("version", version);
  query.set("sort", sort ?? "");
  query.set("dir", direction ?? "");
  for (const [index, name] of filterNames.entries()) {
    const word = filters[index];
    if (word && word !== absent) query.set(name, word);
  }
  const view = parseTaskListView(query);
  return taskListPath(view) === `/task-list/${segments.join("/")}` ? view : null;
}

/** The view that a column's header leads to, and how the column is sorted now. */
export function sortedBy(
  view: TaskListView,
  sort: TaskSort,
): { href: string; sorted: "ascending" | "descending" | undefined } {
  const active = view.sort === sort;
  const direction = active ? (view.direction === "asc" ? "desc" : "asc") : firstDirection[sort];
  return {
    href: taskListHref({ ...view, sort, direction }),
    sorted: active ? (view.direction === "asc" ? "ascending" : "descending") : undefined,
  };
}

function sortValue(task: TaskListItem, sort: TaskSort): number | string | null {
  switch (sort) {
    case "suite":
      return 0;
    case "task":
      return task.title.toLowerCase();
    case "category":
      return task.category;
    case "type":
      return task.type;
    case "gpus":
      return task.gpus;
    case "official":
      return task.officialTests;
    case "probes":
      return task.probes;
    case "resolved":
      return task.solving.resolved?.pct ?? null;
    case "discrimination":
      return task.solving.discrimination;
  }
}

/** Tasks in a view's order: missing values last in either direction, equal ones in the suite's own order. */
export function sortTasks(
  tasks: readonly TaskListItem[],
  { sort, direction }: Pick<TaskListView, "sort" | "direction">,
): TaskListItem[] {
  const sign = direction === "asc" ? 1 : -1;
  return tasks
    .map((task, index) => ({ task, index, value: sortValue(task, sort) }))
    .sort((a, b) => {
      if (a.value === b.value) return a.index - b.index;
      if (a.value === null || b.value === null) return a.value === null ? 1 : -1;
      return a.value < b.value ? -sign : sign;
    })
    .map(({ task }) => task);
}

function isShown({ solving: { resolved, onlyBy } }: TaskListItem, show: TaskShow): boolean {
  if (!resolved) return false;
  switch (show) {
    case "discriminating":
      return resolved.pct > 0 && resolved.pct < 100;
    case "alone":
      return onlyBy !== null;
    case "never":
      return resolved.pct === 0;
    case "all":
      return resolved.pct === 100;
  }
}

/** The tasks that a view's filters leave. Where no entry is ranked, nobody resolves or misses a task. */
export function filterTasks(
  tasks: readonly TaskListItem[],
  { category, type, show, only }: Pick<TaskListView, "category" | "type" | "show" | "only">,
): TaskListItem[] {
  return tasks.filter(
    (task) =>
      (category === null || task.category === category) &&
      (type === null || task.type === type) &&
      (show === null || isShown(task, show)) &&
      (only === null || task.solving.onlyBy?.slug === only),
  );
}

/** The address of one task of a suite version: it never comes to mean another. */
export function taskHref(suite: { slug: string; version: string }, task: string): string {
  return `/tasks/${suite.slug}/${suite.version}/${task}`;
}
