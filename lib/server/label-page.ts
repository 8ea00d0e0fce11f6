import "server-only";
import { findFailureScope, listTaxonomy } from "@/db/queries/failures";
import { findLabelTarget, findQueuePlace, listDisagreements, listPersonLabels } from "@/db/queries/labels";
import type { FailureDetailAnswer, FailureOverview } from "@/lib/contract/failures-api";
import type { Disagreement, GivenLabel, QueuePlace } from "@/lib/contract/label-facts";
import type { FailureAddress } from "@/lib/contract/labels-api";
import type { FailureBackground } from "@/lib/prepare/failure-page";
import type { LabelView } from "@/lib/prepare/label-view";
import type { Person } from "./accounts/session";
import { getDatabase } from "./context";
import { getFailure, getFailureBackground } from "./readers";

export interface FoundLabelPage {
  place: QueuePlace;
  types: FailureOverview["taxonomy"]["types"];
  /** Null where the queue is empty, and where the person has labelled all of it and asked for none in particular. */
  shown: {
    address: FailureAddress;
    answer: FailureDetailAnswer;
    background: FailureBackground;
    /** The person's own label that stands. */
    own: GivenLabel | null;
    /** Everybody's, once the person has given one, or decides between them; null before. */
    labels: GivenLabel[] | null;
  } | null;
}

/**
 * What a person sees to label one failure. Nobody sees what others, or the rules, said of it before giving a label.
 * Null where the filter names a suite that there is not, or the address a failure that nobody may label.
 */
export async function findLabelPage(person: Person, view: LabelView): Promise<FoundLabelPage | null> {
  const { sql } = getDatabase();
  const scope = await findFailureScope(sql, view.filter);
  if (!scope) return null;
  const [place, taxonomy] = await Promise.all([
    findQueuePlace(sql, scope, { personId: person.id, at: view.at }),
    listTaxonomy(sql),
  ]);
  const address = view.at ?? place.current;
  if (!address) return { place, types: taxonomy.types, shown: null };
  const target = await findLabelTarget(sql, address);
  const [answer, background, given] = await Promise.all([
    target && getFailure(address.grading, String(address.test)),
    target && getFailureBackground(address.grading, address.test),
    target && listPersonLabels(sql, target, person.id),
  ]);
  if (!answer || !background || !given) return null;
  const own = given.find((one) => one.mine && !one.withdrawn && !one.adjudicates) ?? null;
  const decides = view.adjudicate && person.role === "maintainer";
  return {
    place,
    types: taxonomy.types,
    shown: {
      address: { grading: address.grading, test: address.test },
      answer,
      background,
      own,
      labels: own || decides ? given : null,
    },
  };
}

/** Most failures that the list of disagreements shows. */
const listedDisagreements = 500;

/** Failures that people label differently: all of them for a maintainer, for an annotator those of his own labels. */
export async function findDisagreements(person: Person): Promise<{ disagreements: Disagreement[]; more: boolean }> {
  const rows = await listDisagreements(
    getDatabase().sql,
    { personId: person.id, all: person.role === "maintainer" },
    listedDisagreements + 1,
  );
  return { disagreements: rows.slice(0, listedDisagreements), more: rows.length > listedDisagreements };
}
