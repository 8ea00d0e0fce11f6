import type { ConditionDifference, ConditionPair } from "@/lib/contract/conditions-api";
import { capitalize, countWord, formatNumber, plural } from "@/lib/format/numbers";
import { significanceLevel } from "@/lib/stats/paired-tests";

/** What is changed in a pair, as the subject of a sentence. */
const subjects: Record<ConditionDifference, string> = {
  prompt: "the pull request’s description",
  skill: "the skill",
};

/** A signed number of percentage points, `+4.2`. */
export function formatPoints(points: number): string {
  const text = formatNumber(points, 1);
  return points > 0 && text !== "0.0" ? `+${text}` : text;
}

/** What pairs of one kind show together: how many win, lose, and can be told apart. */
export function conditionsSentence(differs: ConditionDifference, pairs: readonly ConditionPair[]): string {
  const subject = subjects[differs];
  const more = pairs.filter(({ resolved }) => resolved.points > 0).length;
  const fewer = pairs.filter(({ resolved }) => resolved.points < 0).length;
  const level = pairs.length - more - fewer;
  const apart = pairs.filter(({ test }) => test.pAdjusted <= significanceLevel).length;
  const counted = [
    { word: "more", count: more },
    { word: "fewer", count: fewer },
    { word: "as many", count: level },
  ]
    .filter(({ count }) => count > 0)
    .map(
      ({ word, count }, index) =>
        `${word}${index === 0 ? " tasks are resolved" : ""}${pairs.length === 1 ? "" : ` in ${count === pairs.length ? "each" : countWord(count)}`}`,
    );
  const all = `${countWord(pairs.length)} ${plural(pairs.length, "pair")}`;
  const told =
    apart === 0
      ? `${pairs.length === 1 ? "the difference is not" : "no difference is"} beyond chance`
      : `${countWord(apart)} ${plural(apart, "difference is", "differences are")} beyond chance`;
  return `${capitalize(all)}: with ${subject}, ${counted.join(", ")}; ${told}.`;
}
