import { describe, expect, it } from "vitest";
import type { TaskListItem } from "@/lib/contract/task-api";
import {
  defaultTaskListView,
  filterTasks,
  parseTaskListPath,
  parseTaskListView,
  sortedBy,
  sortTasks,
  taskHref,
  taskListHref,
  taskListPath,
} from "./task-list-view";

const parse = (query: string) => parseTaskListView(new URLSearchParams(query));
const segments = (path: string) => path.split("/").slice(2);

describe("the address of a list of tasks", () => {
  it("holds what differs from the default and reads back", () => {
    expect(taskListHref({})).toBe("/tasks");
    for (const view of [
      { ...defaultTaskListView, suite: "infradev-mini", version: "1.0", sort: "probes", direction: "asc" },
      { ...defaultTaskListView, sort: "task" },
      { ...defaultTaskListView, suite: "infradev", sort: "resolved", direction: "desc", show: "discriminating" },
      { ...defaultTaskListView, category: "rl", type: "bugfix", only: "gpt-6-sol" },
    ] as const) {
      expect(parse(taskListHref(view).split("?")[1] ?? "")).toEqual(view);
      expect(parseTaskListPath(segments(taskListPath(view)))).toEqual(view);
    }
  });

  it("falls back to the default for what no suite, version or column can be called", () => {
    expect(parse("suite=../..&version=x&sort=nothing&dir=up&show=none&category=x&type=y&only=A b")).toEqual(
      defaultTaskListView,
    );
    expect(parse("dir=desc")).toEqual(defaultTaskListView);
  });

  it("has one internal path for each view", () => {
    for (const path of [
      "-/-/suite/asc",
      "-/-/suite/desc/-/-/-/-",
      "-/-/suite/asc/-/-/-/-/more",
      "A/-/suite/asc/-/-/-/-",
      "-/-/nothing/asc/-/-/-/-",
      "-/-/suite/asc/none/-/-/-",
      "-/-/suite/asc/-/-/-/A b",
    ])
      expect(parseTaskListPath(path.split("/")), path).toBeNull();
  });

  it("of a task names suite and version, so that it never comes to mean another", () => {
    expect(taskHref({ slug: "infradev-mini", version: "1.0" }, "router-abort-leak")).toBe(
      "/tasks/infradev-mini/1.0/router-abort-leak",
    );
  });
});

describe("sorting", () => {
  const task = (slug: string, pct: number | null) =>
    ({
      slug,
      title: slug,
      solving: { entries: 1, resolved: pct === null ? null : { resolved: null, total: 1, pct, interval: null } },
    }) as TaskListItem;
  const tasks = [task("b", 50), task("none", null), task("a", 50), task("c", 100)];
  const order = (sort: "resolved" | "task" | "suite", direction: "asc" | "desc") =>
    sortTasks(tasks, { sort, direction }).map(({ slug }) => slug);

  it("keeps missing values last in either direction and level ones in the suite's order", () => {
    expect(order("resolved", "desc")).toEqual(["c", "b", "a", "none"]);
    expect(order("resolved", "asc")).toEqual(["b", "a", "c", "none"]);
    expect(order("task", "asc")).toEqual(["a", "b", "c", "none"]);
    expect(order("suite", "asc")).toEqual(["b", "none", "a", "c"]);
  });

  it("turns round on the second click", () => {
    const once = sortedBy(defaultTaskListView, "probes");
    expect(once).toEqual({ href: "/tasks?sort=probes", sorted: undefined });
    expect(sortedBy(parse("sort=probes"), "probes")).toEqual({
      href: "/tasks?sort=probes&dir=asc",
      sorted: "descending",
    });
  });
});

describe("filtering", () => {
  const task = (slug: string, resolved: number | null, onlyBy: string | null = null) =>
    ({
      slug,
      category: slug.startsWith("rl") ? "rl" : "training",
      type: "feature",
      solving: {
        resolved: resolved === null ? null : { resolved, total: 4, pct: 25 * resolved, interval: null },
        onlyBy: onlyBy === null ? null : { slug: onlyBy, model: onlyBy, submissionId: "" },
      },
    }) as TaskListItem;
  const tasks = [task("never", 0), task("rl-alone", 1, "alpha"), task("alone", 1, "beta"), task("all", 4)];
  const kept = (query: string) => filterTasks(tasks, parse(query)).map(({ slug }) => slug);

  it("keeps the tasks that say something about entries, or that nobody or everybody resolves", () => {
    expect(kept("")).toEqual(["never", "rl-alone", "alone", "all"]);
    expect(kept("show=discriminating")).toEqual(["rl-alone", "alone"]);
    expect(kept("show=alone&category=training")).toEqual(["alone"]);
    expect(kept("show=never")).toEqual(["never"]);
    expect(kept("show=all")).toEqual(["all"]);
    expect(kept("only=alpha")).toEqual(["rl-alone"]);
    expect(kept("type=bugfix")).toEqual([]);
  });

  it("keeps none by who resolves it where nobody is ranked", () => {
    const unranked = [task("never", null)];
    for (const show of ["discriminating", "alone", "never", "all"] as const)
      expect(filterTasks(unranked, { ...defaultTaskListView, show })).toEqual([]);
  });
});
