import { slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";

/** What the address of a comparison asks for; null is what it leaves open. */
export interface CompareView {
  suite: string | null;
  version: string | null;
  a: string | null;
  b: string | null;
}

export const defaultCompareView: CompareView = { suite: null, version: null, a: null, b: null };

/** Reads a view from query parameters; what no suite, version or entry can be called is left open. */
export function parseCompareView(query: URLSearchParams): CompareView {
  return {
    suite: slugSchema.safeParse(query.get("suite")).data ?? null,
    version: suiteVersionSchema.safeParse(query.get("version")).data ?? null,
    a: slugSchema.safeParse(query.get("a")).data ?? null,
    b: slugSchema.safeParse(query.get("b")).data ?? null,
  };
}

function queryOf(view: Partial<CompareView>): string {
  const query = new URLSearchParams();
  for (const name of ["a", "b", "suite", "version"] as const) {
    const value = view[name];
    if (value) query.set(name, value);
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

/** The address of a comparison: only what is chosen stands in it. */
export function compareHref(view: Partial<CompareView>): string {
  return `/compare${queryOf(view)}`;
}

/** Address of a comparison as data, by what follows `/api/v1/compare`. */
export function compareTwinHref(view: Partial<CompareView>, form: "" | ".csv" | ".md"): string {
  return `/api/v1/compare${form}${queryOf(view)}`;
}

const absent = "-";

/** The internal path under which a view is rendered and kept as a page of its own (see `viewPath` of boards). */
export function comparePath({ suite, version, a, b }: CompareView): string {
  return `/comparison/${suite ?? absent}/${version ?? absent}/${a ?? absent}/${b ?? absent}`;
}

/** Reads the segments of `comparePath`; null where they are not what it writes. */
export function parseComparePath(segments: readonly string[]): CompareView | null {
  const query = new URLSearchParams();
  for (const [index, name] of ["suite", "version", "a", "b"].entries()) {
    const segment = segments[index];
    if (segment && segment !== absent) query.set(name, segment);
  }
  const view = parseCompareView(query);
  return comparePath(view) === `/comparison/${segments.join("/")}` ? view : null;
}
