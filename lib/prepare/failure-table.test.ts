import { expect, test } from "vitest";
import type { FailureOverview, FailureTally } from "@/lib/contract/failures-api";
import { failuresLead, groupFilter, heatLevel, heatRows, publishedTaxonomyOf, taxonomyTable } from "./failure-table";

const tally = (counts: [structural: number, resource: number, value: number]): FailureTally => {
  const [structural, resource, value] = counts;
  const count = (attempts: number) => ({ attempts, cases: 2 * attempts });
  const classOf = (attempts: number) => ({ ...count(attempts), pct: 10 * attempts, interval: null });
  return {
    graded: 20,
    failing: 10,
    cases: 40,
    classes: [
      { class: "structural", ...classOf(structural) },
      { class: "behavioral", ...classOf(resource + value) },
      { class: "unclassified", ...classOf(1) },
    ],
    types: [
      { class: "structural", type: "execution-api", ...count(structural) },
      { class: "behavioral", type: "resource", ...count(resource) },
      { class: "behavioral", type: "value", ...count(value) },
      { class: "unclassified", type: "unclassified", ...count(1) },
    ],
  };
};

const group = (key: string, counts: [number, number, number]) => ({ ...tally(counts), key, label: key, entry: null });

const overview: FailureOverview = {
  filter: {},
  entryKind: "model",
  suites: [{ slug: "synthetic-suite", version: "1.0", title: "Synthetic" }],
  rulesVersion: "2.0.0",
  taxonomy: {
    version: "1",
    types: [
      { class: "structural", type: "execution-api", title: "Execution / API", meaning: "raises" },
      { class: "behavioral", type: "resource", title: "Resource", meaning: "takes too much" },
      { class: "behavioral", type: "value", title: "Value", meaning: "is wrong" },
    ],
  },
  total: tally([6, 3, 2]),
  leftOut: [],
  groups: {
    repository: [group("a/b", [4, 3, 0]), group("c/d", [2, 0, 2])],
    category: [],
    entry: [{ ...group("few", [1, 0, 0]), failing: 1 }, group("many", [4, 3, 2])],
    model: [],
    taskType: [],
    condition: [],
    suite: [],
  },
};

const published = publishedTaxonomyOf([
  { source: { title: "Other", url: "https://example.org/1" }, tables: [] },
  {
    source: { title: "Paper", url: "https://example.org/2" },
    tables: [
      {
        key: "table7",
        missing: ["the rest"],
        columns: [{ key: "vllm" }, { key: "all" }],
        rows: [
          { key: "structural.execution-api", label: "x", cells: { vllm: { printed: "19" }, all: { printed: "48" } } },
        ],
      },
    ],
  },
]);

test("types stand by repository, the sum of a class after its types, the published figures beside the same row", () => {
  const table = taxonomyTable(overview, published);
  expect(table.columns.map(({ key }) => key)).toEqual(["a/b", "c/d"]);
  expect(table.rows.map(({ key, counts, total, pct }) => [key, ...counts, total, pct])).toEqual([
    ["structural.execution-api", 4, 2, 6, 60],
    ["behavioral.resource", 3, 0, 3, 30],
    ["behavioral.value", 0, 2, 2, 20],
    ["behavioral.any", 3, 2, 5, 50],
    ["unclassified.unclassified", 1, 1, 1, 10],
  ]);
  expect(table.rows[0]?.published).toEqual({ vllm: "19", all: "48" });
  expect(table.rows[1]?.published).toBeNull();
  expect(published?.columns).toEqual([
    { key: "vllm", label: "vLLM" },
    { key: "all", label: "All" },
  ]);
});

test("without a publication and without failures the table stands, with nothing made up", () => {
  const empty = { ...overview, total: { ...tally([0, 0, 0]), failing: 0 } };
  const table = taxonomyTable(empty, publishedTaxonomyOf([]));
  expect(table.rows.every((row) => row.pct === null && row.published === null)).toBe(true);
});

test("cells are darker the more attempts they hold, and only an empty one has no ground", () => {
  expect([0, 1, 4, 5, 10].map((count) => heatLevel(count, 10))).toEqual([0, 1, 2, 3, 5]);
  expect(heatLevel(0, 0)).toBe(0);
  expect(heatRows(overview)).toMatchObject({ groups: [{ key: "many" }, { key: "few" }], greatest: 4 });
});

test("the lead says how many fail, and in which way most", () => {
  expect(failuresLead(overview)).toBe(
    "Ten of 20 graded attempts of models fail; 60.0\u202f% of these in a structural way.",
  );
  const none = { ...overview, total: { ...overview.total, failing: 0 } };
  expect(failuresLead(none)).toBe("None of 20 graded attempts of models has failed.");
  expect(failuresLead({ ...none, filter: { type: "value" } })).toBe(
    "None of 20 graded attempts of models fails in a way that these filters let through.",
  );
  expect(failuresLead({ ...overview, total: { ...overview.total, graded: 0 } })).toBe(
    "No attempt of models is graded here yet.",
  );
  expect(failuresLead({ ...overview, filter: { type: "value" }, total: { ...overview.total, graded: 0 } })).toBe(
    "No graded attempt of models is let through by these filters.",
  );
});

test("a group is the filter of its name", () => {
  expect(groupFilter("repository", "a/b")).toEqual({ repository: "a/b" });
});
