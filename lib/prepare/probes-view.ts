import { displayNameSchema, slugSchema, suiteVersionSchema } from "@/lib/contract/scalars";
import { type PromptCondition, promptConditions } from "@/lib/contract/vocabulary";

/** What the address of the probes' page asks for: one board. `suite` null is the first whose tasks are published. */
export interface ProbesView {
  suite: string | null;
  version: string | null;
  condition: PromptCondition;
  skill: string | null;
}

export const defaultProbesView: ProbesView = { suite: null, version: null, condition: "interface", skill: null };

/** Reads a view from query parameters; what nothing here can be called falls back to the default. */
export function parseProbesView(query: URLSearchParams): ProbesView {
  const skill = displayNameSchema.safeParse(query.get("skill")).data ?? null;
  return {
    suite: slugSchema.safeParse(query.get("suite")).data ?? null,
    version: suiteVersionSchema.safeParse(query.get("version")).data ?? null,
    condition: promptConditions.find((word) => word === query.get("condition")) ?? defaultProbesView.condition,
    // nothing but dots would climb in the internal path, and "-" stands for none in it
    skill: skill && !/^(\.+|-)$/.test(skill) ? skill : null,
  };
}

function queryOf({ suite, version, condition, skill }: ProbesView): string {
  const query = new URLSearchParams();
  if (suite) query.set("suite", suite);
  if (version) query.set("version", version);
  if (condition !== defaultProbesView.condition) query.set("condition", condition);
  if (skill) query.set("skill", skill);
  const text = query.toString();
  return text ? `?${text}` : "";
}

/** The address of a view: only what differs from the default stands in it. */
export function probesHref(view: Partial<ProbesView>): string {
  return `/probes${queryOf({ ...defaultProbesView, ...view })}`;
}

/** Address of a view as data, by what follows `/api/v1/probes`. */
export function probesTwinHref(view: ProbesView, form: "" | ".csv" | ".md"): string {
  return `/api/v1/probes${form}${queryOf(view)}`;
}

const absent = "-";

/** The internal path under which a view is rendered and kept as a page of its own (see `viewPath` of boards). */
export function probesPath({ suite, version, condition, skill }: ProbesView): string {
  return `/probe-results/${suite ?? absent}/${version ?? absent}/${condition}/${encodeURIComponent(skill ?? absent)}`;
}

/** Reads the segments of `probesPath`; null where they are not what it writes. */
export function parseProbesPath(segments: readonly string[]): ProbesView | null {
  try {
    const words = segments.map((segment) => decodeURIComponent(segment));
    const query = new URLSearchParams();
    for (const [index, name] of ["suite", "version", "condition", "skill"].entries()) {
      const word = words[index];
      if (word && word !== absent) query.set(name, word);
    }
    const view = parseProbesView(query);
    const written = probesPath(view)
      .split("/")
      .slice(2)
      .map((segment) => decodeURIComponent(segment));
    return written.join("/") === words.join("/") ? view : null;
  } catch {
    return null;
  }
}
