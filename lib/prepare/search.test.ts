import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { searchQueryLimit } from "@/lib/contract/search-api";
import { documentPages, searchedDocuments } from "./documents";
import {
  excerptOf,
  markWords,
  matchTexts,
  parseSearchPath,
  readSearchQuery,
  searchHref,
  searchPath,
  searchWords,
} from "./search";

describe("a query", () => {
  it("is one line without control and direction characters, cut at its limit", () => {
    expect(readSearchQuery("  router\u0000\u202e\n abort ")).toBe("router abort");
    expect([...readSearchQuery("𝔸".repeat(5000))]).toHaveLength(searchQueryLimit);
    expect(readSearchQuery(null)).toBe("");
  });

  it("has words of letters and digits, each once", () => {
    expect(searchWords("Router-abort_leak router 6.5 %%%")).toEqual(["router", "abort", "leak", "6", "5"]);
    expect(searchWords("'; drop table --")).toEqual(["drop", "table"]);
    expect(searchWords("a b c d e f g h i j")).toHaveLength(8);
  });

  it("of any text has a path that gives it back, and an address", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const query = readSearchQuery(text);
        expect(readSearchQuery(query)).toBe(query);
        const segment = searchPath(query).split("/")[2] ?? "";
        expect(parseSearchPath(segment)).toBe(query || null);
        const address = new URL(searchHref(query), "http://bench.test");
        expect(readSearchQuery(address.searchParams.get("q"))).toBe(query);
      }),
    );
  });

  it("has one path only", () => {
    for (const segment of ["", "!", "cm91dGVy=", Buffer.from(" router").toString("base64url")])
      expect(parseSearchPath(segment)).toBeNull();
  });
});

describe("a hit", () => {
  it("is marked at the beginnings of words, the longest word first, and keeps its text", () => {
    expect(markWords("Router in a subrouter", ["r", "router"])).toEqual([
      { text: "Router", hit: true },
      { text: " in a subrouter", hit: false },
    ]);
    expect(markWords("通义千问", ["千问"])).toEqual([
      { text: "通义", hit: false },
      { text: "千问", hit: true },
    ]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (text, query) => {
        const pieces = markWords(text, searchWords(readSearchQuery(query)));
        expect(pieces.map((piece) => piece.text).join("")).toBe(text);
      }),
    );
  });

  it("has an excerpt of whole words", () => {
    expect(excerptOf("ken words\n of a pro", { before: true, after: true })).toBe("… words of a …");
    expect(excerptOf("# A head\n\ntext", { before: false, after: false })).toBe("A head text");
    expect(excerptOf("千问千问", { before: true, after: true })).toBe("… 千问千问 …");
  });
});

describe("documents", () => {
  it("have every word; those that have them in their title come first", () => {
    const titles = (query: string) =>
      matchTexts(searchedDocuments, ({ title, summary, also }) => [title, summary, also], searchWords(query)).map(
        ({ title }) => title,
      );
    expect(titles("bundle")[0]).toBe("Bundle format");
    expect(titles("mcnemar")).toContain("Methodology");
    expect(titles("mcnemar nonsense")).toEqual([]);
    expect(titles("")).toEqual([]);
  });

  it("have an address each", () => {
    expect(new Set(documentPages.map(({ href }) => href)).size).toBe(documentPages.length);
  });
});
