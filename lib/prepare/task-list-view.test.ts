import { describe, expect, it } from "vitest";
import type { TaskListItem } from "@/lib/contract/task-api";
import {
  defaultTaskListView,
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
      { suite: "infradev-mini", version: "1.0", sort: "probes", direction: "asc" },
      { suite: null, version: null, sort: "task", direction: "asc" },
      { suite: "infradev", version: null, sort: "resolved", direction: "desc" },
    ] as const) {
      expect(parse(taskListHref(view).split("?")[1] ?? "")).toEqual(view);
      expect(parseTaskListPath(segments(taskListPath(view)))).toEqual(view);
    }
  });

  it("falls back to the default for what no suite, version or column can be called", () => {
    expect(parse("suite=../..&version=x&sort=nothing&dir=up")).toEqual(defaultTaskListView);
    expect(parse("dir=desc")).toEqual(defaultTaskListView);
  });

  it("has one internal path for each view", () => {
    for (const path of ["-/-/suite", "-/-/suite/desc", "-/-/suite/asc/more", "A/-/suite/asc", "-/-/nothing/asc"])
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
