import type { ConditionDifference, ConditionsAnswer } from "@/lib/contract/conditions-api";

/** A publication as it is kept, as far as statements of its text go. */
export interface StatedPublication {
  source: { title: string; url: string };
  tables: readonly {
    key: string;
    rows: readonly {
      key: string;
      label: string;
      cells: Readonly<Record<string, { printed: string; unit: string }>>;
    }[];
  }[];
}

/** Statements about prompt conditions and skills, by their keys among a publication's claims. */
const claims: Readonly<Record<string, ConditionDifference>> = { "pr-description": "prompt", "skill-gain": "skill" };

/** What publications state of prompt conditions and skills, as printed. */
export function publishedConditions(publications: readonly StatedPublication[]): ConditionsAnswer["published"] {
  return publications.flatMap(({ source, tables }) =>
    tables
      .filter(({ key }) => key === "claims")
      .flatMap(({ key: table, rows }) =>
        rows.flatMap(({ key, label, cells }) => {
          const differs = claims[key];
          const cell = cells["value"];
          return differs && cell
            ? [
                {
                  differs,
                  statement: label,
                  printed: cell.printed,
                  unit: cell.unit,
                  title: source.title,
                  url: source.url,
                  table,
                },
              ]
            : [];
        }),
      ),
  );
}
