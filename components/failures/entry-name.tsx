import type { FailureEntry } from "@/lib/contract/failures-api";

/** An entry as lists name it: model, and below it what else tells it from others. */
export function EntryName({ entry }: { entry: FailureEntry }) {
  const rest = [
    entry.agent,
    entry.reasoningEffort,
    entry.promptCondition === "interface" ? null : "pull-request description",
    entry.skill,
  ].filter((part) => part !== null);
  return (
    <>
      <bdi>{entry.model}</bdi>
      {rest.length > 0 ? (
        <small>
          <bdi>{rest.join(", ")}</bdi>
        </small>
      ) : null}
    </>
  );
}
