import type { DocumentHit } from "@/lib/contract/search-api";
import { metrics } from "./metrics";

/** A page of the documents: its address, and what it is found by besides title and summary. */
export interface DocumentPage extends DocumentHit {
  group: "What is measured" | "Checking and citing" | "Working with it";
  also: string;
}

/** The documents in their reading order. */
export const documentPages: readonly DocumentPage[] = [
  {
    href: "/docs/methodology",
    title: "Methodology",
    summary: "What is measured, how entries are ranked, every constant of the statistics.",
    group: "What is measured",
    also: "rank set McNemar Holm Wilson bootstrap power tier provenance statistics definitions outcome",
  },
  {
    href: "/docs/metrics",
    title: "Metrics",
    summary: "Every figure of the tables: definition, formula, interval, where it is computed, what it does not say.",
    group: "What is measured",
    also: "columns figures formula",
  },
  {
    href: "/docs/limits",
    title: "What the numbers establish",
    summary: "What a row, a rank set and a tier support, and the conclusions that they do not.",
    group: "What is measured",
    also: "limits production contamination generalize conclusions threats validity",
  },
  {
    href: "/docs/verify",
    title: "Verify",
    summary: "Three ways to check a graded number, in the page, with the runner, by hand, and what each one proves.",
    group: "Checking and citing",
    also: "signature openssl sha256sum key receipt log evidence",
  },
  {
    href: "/docs/bundle-format",
    title: "Bundle format",
    summary: "The signed evidence of one grading, file by file.",
    group: "Checking and citing",
    also: "DSSE in-toto attestation SHA256SUMS payload result.json events junit tar receipt",
  },
  {
    href: "/docs/exports",
    title: "Exports, feed and badges",
    summary: "The board as CSV, JSON, Markdown, BibTeX and SVG; charts as files; the feed of changes; badges.",
    group: "Checking and citing",
    also: "atom rss cite download PNG chart README",
  },
  {
    href: "/docs/api",
    title: "API",
    summary: "Every page as JSON: each operation with its parameters and the form of its answer.",
    group: "Checking and citing",
    also: "OpenAPI REST endpoint JSON schema",
  },
  {
    href: "/docs/task-format",
    title: "Task format",
    summary: "The files of a task and of a suite, and the gates that a task passes before it counts.",
    group: "Working with it",
    also: "task.toml suite.toml manifest probes mutants gold prompt interfaces launches",
  },
  {
    href: "/docs/own-suite",
    title: "A private evaluation of your own",
    summary: "From a merged change on your own code to a graded board that only you see, step by step.",
    group: "Working with it",
    also: "private suite organization own code vendor seal validate pack import",
  },
  {
    href: "/docs/runner",
    title: "Runner",
    summary: "Grade on a machine of yours: what it needs, its commands, and how it attaches to a site.",
    group: "Working with it",
    also: "host attach lease doctor grade upload token sandbox bubblewrap GPU selftest",
  },
];

/** The page of an address that stands in the list. */
export function findDocument(href: string): DocumentPage {
  const page = documentPages.find((one) => one.href === href);
  if (!page) throw new Error(`${href} is not in the list of documents`);
  return page;
}

/** What search looks through: the documents, and the page of each metric. */
export const searchedDocuments: readonly (DocumentHit & { also: string })[] = [
  ...documentPages,
  ...metrics.map(({ key, title, meaning, definition }) => ({
    href: `/docs/metrics/${key}`,
    title,
    summary: meaning,
    also: definition,
  })),
  {
    href: "/published",
    title: "Published figures",
    summary: "Figures as they were printed, with their source; nothing is filled in.",
    also: "paper table arXiv 2610.36589 InfraDev",
  },
];
