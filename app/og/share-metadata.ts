import type { Metadata } from "next";
import type { Board, SubmissionDetail } from "@/lib/contract/api";
import type { CompareAnswer } from "@/lib/contract/compare-api";
import type { EntryDetail } from "@/lib/contract/entry-api";
import type { TaskDetail } from "@/lib/contract/task-api";
import { boardCard, compareCard, entryCard, rowCard, type ShareCard, taskCard } from "@/lib/prepare/share-card";

/** Size of every share image, in pixels (`lib/server/share-image`). */
const size = { width: 1200, height: 630 };

type Shared = Pick<Metadata, "openGraph" | "twitter">;

function shareMetadata(card: ShareCard, image: string): Shared {
  const text = { title: card.headline, description: [card.kicker, card.foot].join(". ") };
  const images = [{ url: image, alt: card.alt, ...size }];
  return {
    openGraph: { ...text, siteName: "InfraDev", type: "website", images },
    twitter: { ...text, card: "summary_large_image", images },
  };
}

/** What a board is shown as where its address is shared: its finding, with an image of its first rows. */
export function boardShare(board: Board): Shared {
  const { suite, promptCondition, skill } = board;
  const query = new URLSearchParams({ suite: suite.slug, version: suite.version, condition: promptCondition });
  if (skill) query.set("skill", skill);
  return shareMetadata(boardCard(board), `/og/board.png?${query}`);
}

/** A submission's page, and the pages of its attempts. */
export function submissionShare(submission: SubmissionDetail): Shared {
  return shareMetadata(rowCard(submission), `/og/submissions/${submission.id}.png`);
}

/** A comparison of two entries, under the query of its page. */
export function compareShare(answer: CompareAnswer, query: string): Shared {
  const card = compareCard(answer);
  return card ? shareMetadata(card, `/og/compare.png${query}`) : {};
}

/** An entry's page. */
export function entryShare(entry: EntryDetail): Shared {
  const card = entryCard(entry);
  return card ? shareMetadata(card, `/og/entries/${entry.slug}.png`) : {};
}

/** A task's page. */
export function taskShare(detail: TaskDetail): Shared {
  const { suite, task } = detail;
  return shareMetadata(taskCard(detail), `/og/tasks/${suite.slug}/${suite.version}/${task.slug}.png`);
}
