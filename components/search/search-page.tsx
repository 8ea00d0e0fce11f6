import type { ReactNode } from "react";
import type { EntryHit, SearchAnswer } from "@/lib/contract/search-api";
import { plural } from "@/lib/format/numbers";
import { categoryLabels, conditionLabels, propertyLabels } from "@/lib/prepare/labels";
import { markWords, searchHref } from "@/lib/prepare/search";
import { taskHref } from "@/lib/prepare/task-list-view";
import { SearchKeyChoice } from "./search-key-choice";

/** A text with the words looked for marked. */
function Marked({ text, words }: { text: string; words: readonly string[] }) {
  let at = 0;
  return (
    <bdi>
      {markWords(text, words).map((piece) => {
        at += piece.text.length;
        return piece.hit ? <mark key={at}>{piece.text}</mark> : piece.text;
      })}
    </bdi>
  );
}

function Group({ title, count, children }: { title: string; count: number; children: readonly ReactNode[] }) {
  if (count === 0) return null;
  return (
    <section className="search-group">
      <h2>
        {title} <span className="count">{count}</span>
      </h2>
      <ol>{children}</ol>
      {count > children.length ? (
        <p className="aside">The best {children.length} are shown. Another word narrows them down.</p>
      ) : null}
    </section>
  );
}

function entryFacts(entry: EntryHit): string {
  const agent = [entry.agent, entry.agentVersion].filter(Boolean).join(" ");
  return [
    agent,
    entry.reasoningEffort ? `effort ${entry.reasoningEffort}` : "",
    conditionLabels[entry.promptCondition],
    entry.skill ? `skill ${entry.skill}` : "",
    entry.suites.join(", "),
  ]
    .filter(Boolean)
    .join(" · ");
}

function Hits({ found }: { found: SearchAnswer }) {
  const { words, entries, tasks, tests, documents } = found;
  return (
    <>
      <Group title="Entries" count={entries.count}>
        {entries.hits.map((entry) => (
          <li key={entry.slug}>
            <a href={`/entries/${entry.slug}`}>
              <Marked text={entry.model} words={words} />
            </a>
            <p>
              <Marked text={entryFacts(entry)} words={words} />
            </p>
          </li>
        ))}
      </Group>
      <Group title="Tasks" count={tasks.count}>
        {tasks.hits.map((hit) => (
          <li key={`${hit.suite} ${hit.task}`}>
            <a href={taskHref({ slug: hit.suite, version: hit.suiteVersion }, hit.task)}>
              <Marked text={hit.taskTitle} words={words} />
            </a>
            <p>
              <code>
                <Marked text={hit.task} words={words} />
              </code>{" "}
              · <Marked text={`${hit.repo} · ${categoryLabels[hit.category]}`} words={words} /> ·{" "}
              <bdi>{hit.suiteTitle}</bdi> {hit.suiteVersion}
            </p>
            {hit.excerpt ? (
              <p className="excerpt">
                <Marked text={hit.excerpt} words={words} />
              </p>
            ) : null}
          </li>
        ))}
      </Group>
      <Group title="Tests" count={tests.count}>
        {tests.hits.map((hit) => (
          <li key={`${hit.suite} ${hit.task} ${hit.id}`}>
            <a href={taskHref({ slug: hit.suite, version: hit.suiteVersion }, hit.task)} className="test-id">
              <Marked text={hit.id} words={words} />
            </a>
            <p>
              {hit.kind === "probe" ? "probe" : "official test"} · {propertyLabels[hit.property]} · of{" "}
              <bdi>{hit.taskTitle}</bdi>
            </p>
          </li>
        ))}
      </Group>
      <Group title="Documents" count={documents.count}>
        {documents.hits.map(({ href, title, summary }) => (
          <li key={href}>
            <a href={href}>
              <Marked text={title} words={words} />
            </a>
            <p>
              <Marked text={summary} words={words} />
            </p>
          </li>
        ))}
      </Group>
    </>
  );
}

const counted = (count: number, noun: string, nouns: string) =>
  count > 0 ? [`${count} ${plural(count, noun, nouns)}`] : [];

/** What was found in one sentence. */
function summaryOf({ words, entries, tasks, tests, documents }: SearchAnswer): string {
  if (words.length === 0) return "There is no letter or digit in this query, so nothing can be looked for.";
  const parts = [
    ...counted(entries.count, "entry", "entries"),
    ...counted(tasks.count, "task", "tasks"),
    ...counted(tests.count, "test", "tests"),
    ...counted(documents.count, "document", "documents"),
  ];
  if (parts.length > 0) return `${parts.join(", ")}.`;
  return words.length > 1
    ? "Nothing has every one of these words. Fewer words find more."
    : "Nothing has this word. A shorter beginning of it finds more.";
}

/** The search of the whole site: a form, and what a query finds, by group. */
export function SearchPage({ found }: { found: SearchAnswer | null }) {
  return (
    <div className="search-page">
      <div className="page-head">
        <h1>Search</h1>
        <form action="/search" className="search-form">
          <label htmlFor="search-query">Words of a task, an entry, a test or a document</label>
          <span>
            <input
              id="search-query"
              type="search"
              name="q"
              maxLength={100}
              defaultValue={found?.query}
              dir="auto"
              autoComplete="off"
            />
            <button type="submit" className="action">
              Search
            </button>
          </span>
        </form>
      </div>
      {found ? (
        <>
          <p className="search-summary" role="status">
            {summaryOf(found)}
          </p>
          <Hits found={found} />
          <p className="aside">
            <a href={`/api/v1${searchHref(found.query)}`}>These results as JSON</a>
          </p>
        </>
      ) : (
        <p className="lead">
          Every word has to be found, at the beginning of a word. Prompts of tasks are looked through too; of hidden
          probes only ids and properties.
        </p>
      )}
      <SearchKeyChoice />
    </div>
  );
}
