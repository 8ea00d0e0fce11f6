import { expect, it } from "vitest";
import {
  compareHref,
  comparePath,
  compareTwinHref,
  defaultCompareView,
  parseComparePath,
  parseCompareView,
} from "./compare-view";
import {
  defaultProbesView,
  parseProbesPath,
  parseProbesView,
  probesHref,
  probesPath,
  probesTwinHref,
} from "./probes-view";

const segments = (path: string) => path.split("/").slice(2);

it("a comparison's address reads back, and each view has one internal path", () => {
  for (const view of [
    defaultCompareView,
    { suite: "infradev-mini", version: "1.0", a: "reference-gold", b: "gpt-5.6-sol" },
    { ...defaultCompareView, b: "beta" },
  ]) {
    expect(parseCompareView(new URL(compareHref(view), "http://x").searchParams)).toEqual(view);
    expect(parseComparePath(segments(comparePath(view)))).toEqual(view);
  }
  expect(compareHref({})).toBe("/compare");
  expect(compareTwinHref({ a: "x", b: "y" }, ".csv")).toBe("/api/v1/compare.csv?a=x&b=y");
  expect(parseCompareView(new URLSearchParams("a=../x&b=A B&suite=%00&version=new"))).toEqual(defaultCompareView);
  for (const path of ["-/-/-", "-/-/-/-/-", "A/-/-/-", "-/new/-/-"])
    expect(parseComparePath(path.split("/"))).toBeNull();
});

it("so does the probes'", () => {
  for (const view of [
    defaultProbesView,
    { suite: "infradev", version: "1.0", condition: "pr-description" as const, skill: "plan / tests 日本" },
  ]) {
    expect(parseProbesView(new URL(probesHref(view), "http://x").searchParams)).toEqual(view);
    expect(parseProbesPath(segments(probesPath(view)))).toEqual(view);
    expect(parseProbesPath(segments(probesPath(view)).map(decodeURIComponent))).toEqual(view);
  }
  expect(probesTwinHref(defaultProbesView, ".md")).toBe("/api/v1/probes.md");
  expect(parseProbesView(new URLSearchParams("suite=A&version=x&condition=none&skill=.."))).toEqual(defaultProbesView);
  for (const path of ["-/-/interface", "-/-/none/-", "-/-/interface/..", "-/-/interface/%"])
    expect(parseProbesPath(path.split("/"))).toBeNull();
});
