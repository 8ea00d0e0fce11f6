import fc from "fast-check";
import { expect, test } from "vitest";
import {
  failureFilterKeys,
  failuresHref,
  failureViewPath,
  filterValueLabel,
  parseFailureView,
  parseFailureViewPath,
  withFilter,
  withoutFilter,
} from "./failure-view";

const viewOf = (query: string) => parseFailureView(new URLSearchParams(query));

test("a view is written as it is read, with what differs from the default only", () => {
  const href = "/failures?suite=infradev-mini&repository=infradev%2Ftinyfleet&type=resource&by=category&page=3";
  expect(failuresHref(viewOf(href.split("?")[1] ?? ""))).toBe(href);
  expect(failuresHref(viewOf("by=repository&page=1&suite="))).toBe("/failures");
  expect(failuresHref(viewOf("class=behavioral&by=category"), "clusters")).toBe("/failures/clusters?class=behavioral");
});

test("words and names that none of ours can be ask for nothing", () => {
  for (const query of [
    "suite=../x",
    "version=new",
    "entryKind=robots",
    "repository=a",
    "category=x",
    "type=%00",
    "signature=12",
    "page=0",
    "page=1e3",
    "reviewed=maybe",
    "by=colour",
    "model=%E2%80%AE",
  ])
    expect(viewOf(query)).toEqual(viewOf(""));
});

test("a filter is put on and taken off, and the list begins anew", () => {
  const view = viewOf("class=structural&page=4");
  expect(withFilter(view, { type: "execution-api" })).toMatchObject({
    filter: { class: "structural", type: "execution-api" },
    page: 1,
  });
  expect(withFilter(view, { class: undefined }).filter).toEqual({});
  expect(withoutFilter(view, "class")).toMatchObject({ filter: {}, page: 1 });
});

test("every view has one internal path, which leads back to it, names in any script included", () => {
  const view = viewOf("model=%E6%A8%A1%E5%9E%8B+%D7%90&type=resource");
  const path = failureViewPath(view, "failures");
  expect(path).toMatch(/^\/failure-view\/failures\/[\w-]+$/);
  expect(parseFailureViewPath("failures", path.split("/").at(-1) ?? "")).toEqual(view);
  expect(failureViewPath(viewOf(""), "clusters")).toBe("/failure-view/clusters/-");
  expect(parseFailureViewPath("clusters", "-")).toEqual(viewOf(""));
});

test("what is no such path is none, whatever it is", () => {
  const twice = btoa("page=1&type=resource").replaceAll("=", "");
  expect(parseFailureViewPath("failures", twice)).toBeNull();
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (word) => {
      const view = parseFailureViewPath("failures", word);
      if (view) expect(failureViewPath(view, "failures")).toBe(`/failure-view/failures/${word}`);
    }),
  );
});

test("every filter has words for its value", () => {
  for (const key of failureFilterKeys) expect(filterValueLabel(key, "value")).toBe("value");
  expect(filterValueLabel("signature", "a".repeat(64))).toBe("aaaaaaaa");
  expect(filterValueLabel("taskType", "bugfix")).toBe("bug fix");
});
