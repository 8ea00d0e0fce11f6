import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { frameSchema } from "../../contract/result";
import { gradingStatuses, outcomeStatuses, properties } from "../../contract/vocabulary";
import { wilsonInterval } from "../../stats/intervals";
import { classify } from "../classify";
import { failureTypes, rulesVersion } from "../failure-types";

const types = [...failureTypes.map(({ type }) => type), "unclassified"] as const;
const caseSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
  origin: z.enum(["pytorch", "nccl", "pytest", "vllm", "megatron", "verl", "python", "other"]),
  about: z.string().min(1),
  status: z.enum(outcomeStatuses),
  property: z.enum(properties),
  failure: z
    .strictObject({
      exceptionType: z.string().nullable(),
      mro: z.array(z.string()),
      message: z.string(),
      activeCheck: z.enum(properties).nullable(),
      frames: z.array(frameSchema.strict()),
    })
    .nullable(),
  gradingStatus: z.enum(gradingStatuses).optional(),
  label: z.strictObject({ type: z.enum(types) }).nullable(),
  why: z.string().min(1),
});
type Case = z.infer<typeof caseSchema>;

const folder = import.meta.dirname;
const read = (name: string): Case[] => z.array(caseSchema).parse(JSON.parse(readFileSync(join(folder, name), "utf8")));
const published = readdirSync(folder)
  .filter((name) => name.endsWith(".sha256"))
  .map((name) => name.replace(/sha256$/, "json"));
const own = readdirSync(folder)
  .filter((name) => name.endsWith(".json") && !name.startsWith("heldout"))
  .sort()
  .flatMap(read);

/** The first held-out set as the written guidelines label it: a set to tune with since its one judgement. */
function firstHeldOut(): Case[] {
  const schema = z.array(z.strictObject({ id: z.string(), type: z.enum(types), why: z.string().min(1) }));
  const changes = new Map(
    schema
      .parse(JSON.parse(readFileSync(join(folder, "heldout.relabelled.json"), "utf8")))
      .map(({ id, type, why }) => [id, { label: { type }, why }]),
  );
  const cases = read("heldout.json").map((one) => {
    const changed = changes.get(one.id);
    changes.delete(one.id);
    if (changed) expect(changed.label.type, one.id).not.toBe(one.label?.type);
    return { ...one, ...changed };
  });
  expect([...changes.keys()], "relabelled, but not in the set").toEqual([]);
  return cases;
}
const tuned = [...own, ...firstHeldOut()];

const decide = (one: Case): string | null =>
  classify({
    status: one.status,
    failure: one.failure,
    property: one.property,
    ...(one.gradingStatus === undefined ? {} : { gradingStatus: one.gradingStatus }),
  })?.type ?? null;

/** Precision and recall of each type against the labels by hand, and the pooled share that agrees, with Wilson intervals. */
function judge(cases: readonly Case[]) {
  const decided = cases.map((one) => ({ id: one.id, said: decide(one), label: one.label?.type ?? null }));
  const share = (hits: number, of: number) => {
    if (of === 0) return "—";
    const [low, high] = wilsonInterval(hits, of);
    return `${((100 * hits) / of).toFixed(1)} % (${hits}/${of}, ${(100 * low).toFixed(1)}–${(100 * high).toFixed(1)})`;
  };
  const rows = [...types, null].map((type) => {
    const hits = decided.filter(({ said, label }) => said === type && label === type).length;
    const said = decided.filter((one) => one.said === type).length;
    const labelled = decided.filter((one) => one.label === type).length;
    return `${(type ?? "(no failure)").padEnd(20)} precision ${share(hits, said).padEnd(34)} recall ${share(hits, labelled)}`;
  });
  const agree = decided.filter(({ said, label }) => said === label).length;
  return {
    agreement: agree / decided.length,
    wrong: decided.filter(({ said, label }) => said !== label),
    table: [...rows, `${"pooled".padEnd(20)} ${share(agree, decided.length)}`].join("\n"),
  };
}

/** The rows of README.md's table: precision and recall of each type as counts with Wilson intervals. */
function judged(cases: readonly Case[]): string[] {
  const decided = cases.map((one) => ({ said: decide(one), label: one.label?.type ?? null }));
  const share = (hits: number, of: number) => {
    if (of === 0) return "—";
    const [low, high] = wilsonInterval(hits, of).map((end) => (100 * end).toFixed(1));
    return `${hits}/${of} (${low} to ${high})`;
  };
  return [...types, null].map((type) => {
    const both = decided.filter(({ said, label }) => said === type && label === type).length;
    const said = decided.filter((one) => one.said === type).length;
    const labelled = decided.filter(({ label }) => label === type).length;
    return `| ${type ?? "no failure"} | ${share(both, said)} | ${share(both, labelled)} |`;
  });
}

describe("the corpus", () => {
  it("holds at least 300 failures of its own making, each id once, and at least a dozen of each type", () => {
    expect(own.length).toBeGreaterThanOrEqual(300);
    expect(new Set(own.map(({ id }) => id)).size).toBe(own.length);
    for (const { type } of failureTypes)
      expect(tuned.filter(({ label }) => label?.type === type).length, type).toBeGreaterThanOrEqual(12);
  });

  it("agrees with the rules on what they were made for", () => {
    const { agreement, table, wrong } = judge(tuned);
    console.info(`rules against labels by hand, ${tuned.length} failures that the rules were made with\n${table}`);
    expect(wrong).toEqual([]);
    expect(agreement).toBe(1);
  });

  it.each(tuned.map((one) => [one.id, one] as const))("keeps where a label was read from: %s", (_id, one) => {
    const evidence = classify({ status: one.status, failure: one.failure, property: one.property })?.evidence;
    if (!evidence) return;
    const text = {
      status: one.status,
      property: one.property,
      activeCheck: one.failure?.activeCheck,
      exceptionType: one.failure?.exceptionType,
      message: one.failure?.message,
      mro: one.failure?.mro[evidence.index ?? -1],
      function: one.failure?.frames[evidence.index ?? -1]?.function,
      code: one.failure?.frames[evidence.index ?? -1]?.code,
    }[evidence.field];
    expect(text?.slice(evidence.from, evidence.to)).not.toBe("");
    expect(text?.length).toBeGreaterThanOrEqual(evidence.to);
  });
});

describe("held-out sets", () => {
  it.each(published.filter((name) => existsSync(join(folder, name))))(
    "%s is the file whose digest was published before the rules were tuned",
    (name) => {
      // As its author wrote it: one space of indentation.
      const original = `${JSON.stringify(JSON.parse(readFileSync(join(folder, name), "utf8")), null, 1)}\n`;
      const digest = readFileSync(join(folder, name.replace(/json$/, "sha256")), "utf8").split(" ")[0];
      expect(createHash("sha256").update(original).digest("hex")).toBe(digest);
      expect(read(name).length).toBeGreaterThanOrEqual(115);
    },
  );

  it("were judged as README.md says: the second one by the rules as they were before it was opened", () => {
    const heldOut = read("heldout-2.json");
    const { table, wrong } = judge(heldOut);
    console.info(`rules against labels by hand, ${heldOut.length} failures of the second held-out set\n${table}`);
    const reported = readFileSync(join(folder, "..", "README.md"), "utf8");
    const agreed = heldOut.length - wrong.length;
    const [low, high] = wilsonInterval(agreed, heldOut.length).map((share) => (100 * share).toFixed(1));
    expect(reported).toContain(
      `${agreed} of ${heldOut.length} agreed (${((100 * agreed) / heldOut.length).toFixed(1)} %, 95 % interval ${low} to ${high}; rules ${rulesVersion}`,
    );
    for (const row of judged(heldOut)) expect(reported).toContain(row);
    expect(reported).toContain("178 of 199 agreed");
  });
});
