import { LongText } from "@/components/ui/long-text";
import type { TaskDetail } from "@/lib/contract/task-api";
import { capitalize } from "@/lib/format/numbers";
import { conditionLabels } from "@/lib/prepare/labels";

/** What an agent is told, per prompt condition; a text that is upstream's own is a link to where it stands. */
export function TaskPrompts({ prompts }: { prompts: TaskDetail["prompts"] }) {
  return (
    <section aria-labelledby="prompts">
      <h2 id="prompts">{prompts.length > 1 ? "Prompts" : "Prompt"}</h2>
      {prompts.length === 0 ? <p className="empty">No prompt came with this task.</p> : null}
      {prompts.map((prompt) => (
        <article key={prompt.condition} className="prompt" aria-labelledby={`prompt-${prompt.condition}`}>
          <h3 id={`prompt-${prompt.condition}`}>
            {capitalize(conditionLabels[prompt.condition])}
            {prompt.isDefault ? <span className="count"> default</span> : null}
          </h3>
          {prompt.source ? (
            <p>
              The text is upstream’s own and is not copied here:{" "}
              <a href={prompt.source} className="hit">
                message of the merge commit
              </a>
              . An agent gets it word for word.
            </p>
          ) : null}
          {prompt.text === null ? null : <LongText text={prompt.text.trimEnd()} />}
          <p className="aside">
            sha256 <code>{prompt.digest}</code>
          </p>
        </article>
      ))}
    </section>
  );
}
