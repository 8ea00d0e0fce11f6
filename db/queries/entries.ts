import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import type { Candidate } from "../../lib/contract/bundle";
import type { Writable } from "../client";
import { entries } from "../schema";

/** What every answer says of an entry: select it under `entry`. */
export const entryColumns = {
  slug: entries.slug,
  kind: entries.kind,
  model: entries.model,
  agent: entries.agent,
  agentVersion: entries.agentVersion,
  reasoningEffort: entries.reasoningEffort,
  networkPolicy: entries.networkPolicy,
};

/** An entry's limits: select it under `budget`. */
export const budgetColumns = {
  timeMin: entries.budgetTimeMin,
  costUsd: entries.budgetCostUsd,
  tokensM: entries.budgetTokensM,
  steps: entries.budgetSteps,
};

export type EntryConfiguration = Omit<Candidate, "promptDigest">;

/** sha256 over the configuration's fields in a fixed order: the same configuration is the same entry. */
function entryDigestOf(configuration: EntryConfiguration): string {
  const { kind, model, agent, agentVersion, reasoningEffort, promptCondition, skill, networkPolicy, budget } =
    configuration;
  const fields = [
    kind,
    model,
    agent,
    agentVersion,
    reasoningEffort,
    promptCondition,
    skill?.name ?? null,
    skill?.digest ?? null,
    networkPolicy,
    budget.timeMin,
    budget.costUsd,
    budget.tokensM,
    budget.steps,
  ];
  return createHash("sha256").update(JSON.stringify(fields)).digest("hex");
}

/** A readable address: model, agent and effort in lowercase letters and digits; a piece of the digest keeps it unique where it must. */
function entrySlugOf(configuration: EntryConfiguration, digest: string): string {
  const { kind, model, agent, reasoningEffort, promptCondition, skill, networkPolicy, budget } = configuration;
  const readable = [
    kind === "reference" ? model.replace(/^reference:\s*/, "reference-") : model,
    agent,
    reasoningEffort,
  ]
    .filter((part) => part !== null)
    .join("-")
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, "-")
    .replaceAll(/[-.]{2,}/g, "-")
    .slice(0, 60)
    .replaceAll(/^[-.]|[-.]$/g, "");
  const plain =
    readable !== "" &&
    /^[\p{ASCII}]*$/u.test(model) &&
    promptCondition === "interface" &&
    skill === null &&
    (networkPolicy === "not-stated" || kind === "reference") &&
    Object.values(budget).every((limit) => limit === null);
  return plain ? readable : [readable, digest.slice(0, 8)].filter(Boolean).join("-");
}

/** The entry's id; it is made when its configuration is new. */
export async function recordEntry(db: Writable, configuration: EntryConfiguration): Promise<number> {
  const configDigest = entryDigestOf(configuration);
  const find = async () => {
    const [row] = await db.select({ id: entries.id }).from(entries).where(eq(entries.configDigest, configDigest));
    return row?.id;
  };
  const known = await find();
  if (known !== undefined) return known;
  const { kind, model, agent, agentVersion, reasoningEffort, promptCondition, skill, networkPolicy, budget } =
    configuration;
  const readable = entrySlugOf(configuration, configDigest);
  // The address may be another configuration's, one that was recorded at this moment too.
  for (const slug of [readable, `${readable}-${configDigest.slice(0, 8)}`]) {
    await db
      .insert(entries)
      .values({
        slug,
        kind,
        model,
        agent,
        agentVersion,
        reasoningEffort,
        promptCondition,
        skillName: skill?.name ?? null,
        skillDigest: skill?.digest ?? null,
        networkPolicy,
        budgetTimeMin: budget.timeMin,
        budgetCostUsd: budget.costUsd,
        budgetTokensM: budget.tokensM,
        budgetSteps: budget.steps,
        configDigest,
      })
      .onConflictDoNothing();
    const id = await find();
    if (id !== undefined) return id;
  }
  throw new Error(`two entries want the address ${readable}`);
}

/** An entry's row as the configuration that it was recorded from. */
export function configurationOf(entry: typeof entries.$inferSelect): EntryConfiguration {
  return {
    kind: entry.kind,
    model: entry.model,
    agent: entry.agent,
    agentVersion: entry.agentVersion,
    reasoningEffort: entry.reasoningEffort,
    promptCondition: entry.promptCondition,
    skill:
      entry.skillName !== null && entry.skillDigest !== null
        ? { name: entry.skillName, digest: entry.skillDigest }
        : null,
    networkPolicy: entry.networkPolicy,
    budget: {
      timeMin: entry.budgetTimeMin,
      costUsd: entry.budgetCostUsd,
      tokensM: entry.budgetTokensM,
      steps: entry.budgetSteps,
    },
  };
}
