import type { AgreementCount } from "@/lib/contract/label-facts";
import { type LabelAgreement, raterOfRules } from "@/lib/contract/labels-api";
import { cohenKappa } from "@/lib/stats/kappa";

/** Kappa of every pair of raters, people with people first, each over types and over classes. */
export function prepareAgreement(
  sums: { rulesVersion: string | null; labelled: number; open: number; decided: number },
  counts: readonly AgreementCount[],
): LabelAgreement {
  const pairs = new Map<string, AgreementCount[]>();
  for (const cell of counts) {
    const key = `${cell.second === null ? 1 : 0} ${cell.first} ${cell.second}`;
    pairs.set(key, [...(pairs.get(key) ?? []), cell]);
  }
  return {
    rulesVersion: sums.rulesVersion,
    labelled: sums.labelled,
    disagreements: { open: sums.open, decided: sums.decided },
    pairs: [...pairs]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, cells]) => ({
        first: cells[0]?.first ?? "",
        second: cells[0]?.second ?? raterOfRules,
        byType: cohenKappa(
          cells.map(({ firstType, secondType, count }) => ({ first: firstType, second: secondType, count })),
        ),
        byClass: cohenKappa(
          cells.map(({ firstClass, secondClass, count }) => ({ first: firstClass, second: secondClass, count })),
        ),
        table: cells.map(({ firstType, secondType, count }) => ({ first: firstType, second: secondType, count })),
      })),
  };
}
