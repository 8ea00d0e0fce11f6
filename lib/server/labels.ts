import "server-only";
import { randomUUID } from "node:crypto";
import { applyEffectiveLabels, lockFailures } from "@/db/queries/effective-labels";
import { findFailureScope, listTaxonomy } from "@/db/queries/failures";
import {
  findLabelTarget,
  type LabelTarget,
  listClusterRest,
  listNewestAct,
  recordPersonLabels,
  recordWithdrawal,
} from "@/db/queries/labels";
import type { SqlRunner } from "@/db/queries/queue";
import { InfraDevError } from "@/lib/contract/errors";
import { batchLimit, type FailureAddress, type LabelForm, noType } from "@/lib/contract/labels-api";
import type { EvidenceSpan } from "@/lib/contract/result";
import type { Person } from "./accounts/session";
import { announceTags } from "./announce";
import type { ServerContext } from "./context";
import { cacheTags } from "./tags";

/** Gives a failure, or its whole cluster, a type in a person's name; how many failures that labelled. */
export async function giveLabel(context: ServerContext, person: Person, form: LabelForm): Promise<number> {
  const address = { grading: form.grading, test: Number(form.test) };
  const adjudicates = form.adjudicate === "yes";
  const { labelled, tags } = await context.database.sql.begin(async (tx) => {
    const target = await findLabelTarget(tx, address);
    if (!target) throw unknownFailure(address);
    const given = await typeNamed(tx, form.type);
    const evidence = evidenceOf(form, target);
    const rest = form.cluster === "yes" && !adjudicates ? await restOfCluster(tx, target, person) : [];
    const cases = [target, ...rest];
    await lockFailures(tx, cases);
    await recordPersonLabels(tx, {
      personId: person.id,
      batch: randomUUID(),
      ...given,
      note: form.note || null,
      evidence,
      adjudicates,
      cases,
    });
    await applyEffectiveLabels(tx, cases);
    return { labelled: cases.length, tags: await announce(tx, cases) };
  });
  context.expireTags(tags);
  return labelled;
}

/** Takes a person's newest act back; the failure that it began with, or null where there is none. */
export async function takeBackLabel(context: ServerContext, person: Person): Promise<FailureAddress | null> {
  const undone = await context.database.sql.begin(async (tx) => {
    const act = await listNewestAct(tx, person.id);
    const [first] = act;
    if (!first) return null;
    await lockFailures(tx, act);
    await recordWithdrawal(
      tx,
      person.id,
      act.map(({ labelId }) => labelId),
    );
    await applyEffectiveLabels(tx, act);
    return { address: { grading: first.grading, test: first.test }, tags: await announce(tx, act) };
  });
  if (!undone) return null;
  context.expireTags(undone.tags);
  return undone.address;
}

/** What shows these failures' labels is made anew, in every process. */
async function announce(tx: SqlRunner, cases: readonly { submissionId: string }[]): Promise<string[]> {
  const submissions = [...new Set(cases.map(({ submissionId }) => submissionId))];
  const tags = [cacheTags.labels, ...submissions.map(cacheTags.submission)];
  await announceTags(tx, tags);
  return tags;
}

async function restOfCluster(tx: SqlRunner, target: LabelTarget, person: Person) {
  const scopes = [];
  for (const entryKind of ["model", "reference"] as const)
    scopes.push(await findFailureScope(tx, { signature: target.signature, entryKind }));
  const rest = [];
  for (const scope of scopes)
    if (scope)
      rest.push(...(await listClusterRest(tx, scope, { personId: person.id, except: target, limit: batchLimit })));
  if (rest.length < batchLimit) return rest;
  throw new InfraDevError("too-large", {
    code: "labels.cluster-too-large",
    message: "the cluster has more failures than one act may label",
    where: target.signature,
    rule: `one act labels at most ${batchLimit} failures`,
    remedy: "label this one alone, and give the cluster to a rule",
  });
}

async function typeNamed(tx: SqlRunner, type: string): Promise<{ class: string; type: string }> {
  if (type === noType.type) return noType;
  const { types } = await listTaxonomy(tx);
  const known = types.find((one) => one.type === type);
  if (known) return { class: known.class, type: known.type };
  throw new InfraDevError("invalid", {
    code: "labels.type",
    message: "there is no such type",
    where: "form#type",
    rule: `types are those of the taxonomy: ${types.map((one) => one.type).join(", ")}, and ${noType.type}`,
    remedy: "choose one of them",
  });
}

/** The marked words as a part of the message. Throws `labels.quote` where they do not stand in it. */
function evidenceOf(form: LabelForm, { message }: LabelTarget): EvidenceSpan | null {
  // Browsers send the line ends of a form as CR LF.
  const quote = form.quote?.replaceAll("\r\n", "\n").trim();
  if (!quote) return null;
  const asked = form.from === undefined ? -1 : Number(form.from);
  const from = asked >= 0 && message.startsWith(quote, asked) ? asked : message.indexOf(quote);
  if (from >= 0) return { field: "message", index: null, from, to: from + quote.length };
  throw new InfraDevError("invalid", {
    code: "labels.quote",
    message: "the quoted words do not stand in the message",
    where: "form#quote",
    rule: "a label is read from a part of the failure's message, as it stands there",
    remedy: "copy the words from the message, or leave them out",
  });
}

function unknownFailure({ grading, test }: FailureAddress): InfraDevError {
  return new InfraDevError("not-found", {
    code: "failure.unknown",
    message: "there is no such failure to label",
    where: `${grading}/${test}`,
    rule: "failures of submissions that stand, and of tests whose text may be read",
    remedy: "take the next one of the queue",
  });
}
