import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { findFailureScope } from "@/db/queries/failures";
import { findQueuePlace } from "@/db/queries/labels";
import { seedDatabase } from "@/db/seed/seed";
import type { PersonRole } from "@/lib/contract/accounts";
import { problemResponseSchema } from "@/lib/contract/errors";
import { exportedLabelSchema, type LabelAgreement, labelAnswerSchema } from "@/lib/contract/labels-api";
import { createAccount } from "@/lib/server/accounts/manage";
import { findPerson, type Person } from "@/lib/server/accounts/session";
import { signIn } from "@/lib/server/accounts/sign-in";
import { getDatabase, type ServerContext } from "@/lib/server/context";
import { findDisagreements, findLabelPage } from "@/lib/server/label-page";
import { getFailure, getFailureList, getLabelAgreement } from "@/lib/server/readers";
import { addTestHost, gradeOne, startTestServer, submitGold, type TestServer } from "@/lib/server/testing";
import { GET as getCsv } from "../api/v1/labels.csv/route";
import { GET as getJsonLines } from "../api/v1/labels.jsonl/route";
import { POST as record } from "./record/route";
import { POST as undo } from "./undo/route";

// Outside of Next there is no cache, and no request to wait for.
vi.mock("next/cache", () => ({ cacheTag: vi.fn(), cacheLife: () => {}, revalidateTag: () => {} }));
vi.mock("next/server", () => ({ connection: async () => {}, after: () => {} }));
vi.mock("@/lib/server/context", async (load) => ({
  ...(await load<typeof import("@/lib/server/context")>()),
  getDatabase: vi.fn(),
}));

const origin = "http://bench.test";
const view = { filter: {}, at: null, adjudicate: false };
let server: TestServer;
let ada: Someone;
let bob: Someone;
let eve: Someone;
let reader: Someone;

type Someone = { cookie: string; person: Person };

async function someone(email: string, role: PersonRole | null): Promise<Someone> {
  const made = await createAccount(server, { email, name: null, role });
  const answer = await signIn(server, { email, password: made.password, headers: new Headers() });
  if (answer.outcome !== "signed-in") throw new Error(`${email} is not signed in`);
  const cookie = answer.cookies.map((one) => one.split(";")[0]).join("; ");
  const person = await findPerson(server, new Headers({ cookie }));
  if (!person) throw new Error(`${email} has no session`);
  return { cookie, person };
}

beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 3 });
  (globalThis as { infradevContext?: Promise<ServerContext> }).infradevContext = Promise.resolve(server);
  vi.mocked(getDatabase).mockReturnValue(server.database);
  await seedDatabase(server.testDatabase.url);
  await submitGold(server);
  const host = await addTestHost(server);
  // Three attempts with the same two failing cases each: two clusters of three.
  for (let index = 0; index < 3; index++)
    await gradeOne(server, host, {
      statuses: { "tests/test_pool.py::test_release": "failed", "tests/test_pool.py::test_keeps_order": "crashed" },
    });
  [ada, bob, eve, reader] = [
    await someone("ada@example.org", "annotator"),
    await someone("bob@example.org", "annotator"),
    await someone("eve@example.org", "maintainer"),
    await someone("reader@example.org", null),
  ];
});
afterAll(async () => {
  delete (globalThis as { infradevContext?: Promise<ServerContext> }).infradevContext;
  await server.close();
});

function form(
  path: string,
  fields: Record<string, string>,
  options: { cookie?: string; origin?: string; script?: boolean } = {},
): Request {
  return new Request(`${origin}${path}`, {
    method: "POST",
    headers: {
      host: "bench.test",
      origin: options.origin ?? origin,
      ...(options.cookie ? { cookie: options.cookie } : {}),
      ...(options.script ? { accept: "application/json" } : {}),
    },
    body: new URLSearchParams(fields),
  });
}

type Address = { grading: string; test: number };
const fieldsOf = ({ grading, test }: Address, type: string, more: Record<string, string> = {}) => ({
  grading,
  test: String(test),
  type,
  ...more,
});

async function say(who: Someone, at: Address, type: string, more: Record<string, string> = {}): Promise<void> {
  const answer = await record(form("/label/record", fieldsOf(at, type, more), { cookie: who.cookie }));
  expect(answer.status).toBe(303);
}
const takeBack = (who: Someone) => undo(form("/label/undo", {}, { cookie: who.cookie }));

async function cases(): Promise<Address[]> {
  const list = await getFailureList({ suite: "synthetic-suite" }, 1);
  return (list?.failures ?? []).map(({ address }) => address);
}
async function nth(index: number): Promise<Address> {
  const address = (await cases())[index];
  if (!address) throw new Error(`there is no failure ${index}`);
  return address;
}
async function counting(at: Address): Promise<[string, string]> {
  const found = await getFailure(at.grading, String(at.test));
  const effective = found?.labels.filter((label) => label.effective) ?? [];
  expect(effective).toHaveLength(1);
  // What stands beside the failure is the label that the history says counts.
  expect([found?.failure.label.type, found?.failure.label.source]).toEqual([effective[0]?.type, effective[0]?.source]);
  return [effective[0]?.type ?? "", effective[0]?.source ?? ""];
}
async function clear(): Promise<void> {
  for (const who of [ada, bob, eve])
    while ((await takeBack(who)).headers.get("location")?.includes("at=")) await Promise.resolve();
}

describe("the right to label", () => {
  it("belongs to nobody who is not signed in, to no reader, and to no other site's form", async () => {
    const fields = fieldsOf(await nth(0), "value");
    const asked = async (options: { cookie?: string; origin?: string }) => {
      const answers = [
        await record(form("/label/record", fields, options)),
        await undo(form("/label/undo", {}, options)),
      ];
      const codes = await Promise.all(
        answers.map(async (answer) => problemResponseSchema.parse(await answer.json()).error.code),
      );
      expect(codes[0]).toBe(codes[1]);
      return [answers[0]?.status, codes[0]];
    };
    expect(await asked({})).toEqual([401, "accounts.signed-out"]);
    expect(await asked({ cookie: reader.cookie })).toEqual([403, "accounts.role"]);
    expect(await asked({ cookie: ada.cookie, origin: "https://evil.test" })).toEqual([403, "request.foreign-origin"]);
    expect(await server.database.sql`select 1 from label where source = 'person'`).toHaveLength(0);
  });

  it("to decide is a maintainer's alone", async () => {
    const fields = fieldsOf(await nth(0), "value", { adjudicate: "yes" });
    expect((await record(form("/label/record", fields, { cookie: ada.cookie }))).status).toBe(403);
    expect(await server.database.sql`select 1 from label where adjudicates`).toHaveLength(0);
  });

  it("refuses types and failures that there are not, and words that are not in the message", async () => {
    const at = await nth(0);
    const code = async (fields: Record<string, string>) => {
      const answer = await record(form("/label/record", fields, { cookie: ada.cookie, script: true }));
      return [answer.status, problemResponseSchema.parse(await answer.json()).error.code];
    };
    expect(await code(fieldsOf(at, "nonsense"))).toEqual([422, "labels.type"]);
    expect(await code(fieldsOf({ ...at, test: 999 }, "value"))).toEqual([404, "failure.unknown"]);
    expect(await code(fieldsOf(at, "value", { quote: "never said" }))).toEqual([422, "labels.quote"]);
    expect(await code(fieldsOf(at, "value", { note: "x".repeat(1001) }))).toEqual([422, "request.invalid"]);
    const back = await record(
      form("/label/record", fieldsOf(at, "value", { quote: "never said", here: "/label?type=value" }), {
        cookie: ada.cookie,
      }),
    );
    expect(back.headers.get("location")).toBe("/label?type=value&problem=quote");
    expect(await server.database.sql`select 1 from label where source = 'person'`).toHaveLength(0);
  });
});

describe("the label that counts", () => {
  it("is a person's before the rule's, which stays; taking it back gives the rule its place again", async () => {
    const at = await nth(0);
    const [ruled] = await counting(at);
    await say(ada, at, "state-lifecycle", { quote: "synthetic", note: "lost in\0 restore" });
    expect(await counting(at)).toEqual(["state-lifecycle", "person"]);
    const found = await getFailure(at.grading, String(at.test));
    expect(found?.labels.map(({ source }) => source)).toEqual(["person", "rule"]);
    expect(found?.failure.label.evidence).toEqual({ field: "message", index: null, from: 0, to: 9 });
    const list = await getFailureList({ suite: "synthetic-suite", reviewed: "yes" }, 1);
    expect(list?.failures.map(({ address }) => address)).toEqual([at]);
    expect((await takeBack(ada)).headers.get("location")).toBe(`/label?at=${at.grading}.${at.test}`);
    expect(await counting(at)).toEqual([ruled, "rule"]);
    expect(found?.labels).toHaveLength(2);
  });

  it("stays the rule's while people differ, until a maintainer decides; the decision can be taken back too", async () => {
    const at = await nth(0);
    const [ruled] = await counting(at);
    await say(ada, at, "state-lifecycle");
    await say(bob, at, "resource");
    expect(await counting(at)).toEqual([ruled, "rule"]);
    await say(eve, at, "condition-specific", { adjudicate: "yes" });
    expect(await counting(at)).toEqual(["condition-specific", "person"]);
    // What people say afterwards does not move it.
    await say(ada, at, "resource");
    expect(await counting(at)).toEqual(["condition-specific", "person"]);
    await takeBack(eve);
    // Ada has come to agree with Bob.
    expect(await counting(at)).toEqual(["resource", "person"]);
    await clear();
    expect(await counting(at)).toEqual([ruled, "rule"]);
  });

  it("is the same whoever comes first: people at once leave every label, and one that follows from them", async () => {
    const at = await nth(1);
    const [ruled] = await counting(at);
    await Promise.all([
      say(ada, at, "resource"),
      say(bob, at, "value"),
      say(ada, at, "resource"),
      say(bob, at, "value"),
    ]);
    expect(
      await server.database.sql`
      select 1 from label where source = 'person' and grading_id = ${at.grading} and test_id in (
        select id from task_test where position = ${at.test - 1})
      and not exists (select 1 from label_withdrawal where label_id = label.id)`,
    ).toHaveLength(4);
    expect(await counting(at)).toEqual([ruled, "rule"]);
    await Promise.all([say(bob, at, "resource"), takeBack(ada)]);
    expect(await counting(at)).toEqual(["resource", "person"]);
    await clear();
  });

  it("can be that no type fits", async () => {
    const at = await nth(0);
    await say(ada, at, "unclassified");
    expect(await counting(at)).toEqual(["unclassified", "person"]);
    await clear();
  });

  it("tells the caches of every process what changed", async () => {
    const at = await nth(0);
    server.expired.length = 0;
    await say(ada, at, "value");
    const found = await getFailure(at.grading, String(at.test));
    expect(server.expired).toEqual(["labels", `submission:${found?.failure.submissionId}`]);
    await clear();
  });
});

describe("one act on a cluster", () => {
  it("labels every member that the person has not labelled, and is taken back as one", async () => {
    const at = await nth(0);
    const signature = (await getFailure(at.grading, String(at.test)))?.failure.signature ?? "";
    const members = (await getFailureList({ suite: "synthetic-suite", signature }, 1))?.failures ?? [];
    expect(members).toHaveLength(3);
    const other = members.map(({ address }) => address).find(({ grading }) => grading !== at.grading) ?? at;
    await say(ada, other, "value");
    const answer = await record(
      form("/label/record", fieldsOf(at, "resource", { cluster: "yes", quote: "synthetic" }), {
        cookie: ada.cookie,
        script: true,
      }),
    );
    expect(labelAnswerSchema.parse(await answer.json()).labelled).toBe(2);
    const types = async () =>
      Promise.all(members.map(async ({ address }) => (await counting(address))[0])).then((all) => all.sort());
    expect(await types()).toEqual(["resource", "resource", "value"]);
    // Evidence belongs to the failure whose message was read.
    expect(
      await server.database.sql`select 1 from label where evidence is not null and source = 'person'
      and type = 'resource' and batch is not null and grading_id = ${at.grading}
      and not exists (select 1 from label_withdrawal where label_id = label.id)`,
    ).toHaveLength(1);
    await takeBack(ada);
    expect((await types()).filter((type) => type === "resource")).toEqual([]);
    const reviewed = await getFailureList({ suite: "synthetic-suite", signature, reviewed: "yes" }, 1);
    expect(reviewed?.failures.map(({ address }) => address)).toEqual([other]);
    await clear();
  });
});

describe("what a person sees", () => {
  it("is nothing of what others said before giving a label", async () => {
    const at = await nth(0);
    await say(ada, at, "value", { note: "for ada's eyes" });
    const before = await findLabelPage(bob.person, { ...view, at });
    expect(before?.shown?.labels).toBeNull();
    await say(bob, at, "resource");
    const after = await findLabelPage(bob.person, { ...view, at });
    const standing = after?.shown?.labels?.filter(({ withdrawn }) => !withdrawn);
    expect(standing?.map(({ by, type, mine }) => [by, type, mine])).toEqual([
      [bob.person.pseudonym, "resource", true],
      [ada.person.pseudonym, "value", false],
    ]);
    // A maintainer who decides sees them without a label of his own.
    expect((await findLabelPage(eve.person, { ...view, at }))?.shown?.labels).toBeNull();
    const deciding = await findLabelPage(eve.person, { ...view, at, adjudicate: true });
    expect(deciding?.shown?.labels?.filter(({ withdrawn }) => !withdrawn)).toHaveLength(2);
    expect((await findLabelPage(bob.person, { ...view, at, adjudicate: true }))?.shown?.own?.type).toBe("resource");
    await clear();
  });

  it("is a queue that keeps its order while it is labelled, and goes on to what is still open", async () => {
    const { sql } = server.database;
    const scope = await findFailureScope(sql, { suite: "synthetic-suite" });
    if (!scope) throw new Error("the suite vanished");
    const placeOf = (at: Address | null) => findQueuePlace(sql, scope, { personId: ada.person.id, at });
    const start = await placeOf(null);
    expect([start.total, start.labelled, start.current?.place, start.previous]).toEqual([6, 0, 1, null]);
    expect(start.nextOpen).toEqual(start.next);
    await say(ada, await firstOf(start.current), "value");
    const second = await placeOf(null);
    expect([second.labelled, second.current?.place]).toEqual([1, 2]);
    const { place: _place, ...first } = start.current ?? { place: 0, grading: "", test: 0 };
    expect(second.previous).toEqual(first);
    // Going back to the first one, the next open one is the second.
    const again = await placeOf(first);
    expect(again.current?.place).toBe(1);
    expect(again.nextOpen).toEqual(again.next);
    await clear();
  });

  it("has an end: once all is labelled it stands nowhere, and an earlier failure is shown when it is asked for", async () => {
    const filtered = { ...view, filter: { suite: "synthetic-suite" } };
    const all = await cases();
    for (const at of all.slice(1)) await say(ada, at, "value");
    const last = await findLabelPage(ada.person, filtered);
    expect([last?.shown?.address, last?.place.nextOpen]).toEqual([all[0], null]);
    await say(ada, all[0] ?? (await nth(0)), "resource");
    const end = await findLabelPage(ada.person, filtered);
    expect([end?.shown, end?.place.current, end?.place.labelled, end?.place.total]).toEqual([null, null, 6, 6]);
    const again = await findLabelPage(ada.person, { ...filtered, at: end?.place.next ?? null });
    expect([again?.place.current?.place, again?.shown?.own === null]).toEqual([1, false]);
    // Somebody else still has all of it to do.
    expect((await findLabelPage(bob.person, filtered))?.place.current?.place).toBe(1);
    await clear();
  });
  const firstOf = async (at: Address | null) => at ?? nth(0);

  it("of disagreements is all for a maintainer, and for an annotator those of his own labels", async () => {
    const [one, other] = [await nth(0), await nth(1)];
    await say(ada, one, "value");
    await say(bob, one, "resource");
    await say(ada, other, "value");
    expect((await findDisagreements(eve.person)).disagreements).toMatchObject([
      { grading: one.grading, test: one.test, decision: null },
    ]);
    expect((await findDisagreements(bob.person)).disagreements).toHaveLength(1);
    expect((await findDisagreements(reader.person)).disagreements).toHaveLength(0);
    await say(eve, one, "value", { adjudicate: "yes" });
    expect((await findDisagreements(eve.person)).disagreements).toMatchObject([{ decision: "value" }]);
    // What was withdrawn can be decided no more, and is in no count.
    await server.database.sql`update submission set withdrawn_at = now()`;
    expect((await findDisagreements(eve.person)).disagreements).toEqual([]);
    expect(await getLabelAgreement()).toMatchObject({ labelled: 0, disagreements: { open: 0, decided: 0 }, pairs: [] });
    await server.database.sql`update submission set withdrawn_at = null`;
    await clear();
  });
});

describe("agreement and export", () => {
  it("count each person's standing label once, against other people and against the rules", async () => {
    const all = await cases();
    for (const at of all) await say(ada, at, "value");
    for (const at of all.slice(0, 4)) await say(bob, at, "value");
    // A changed mind counts once, a decision is no rating.
    await say(bob, await nth(3), "resource");
    await say(eve, await nth(3), "value", { adjudicate: "yes" });
    const agreement: LabelAgreement = await getLabelAgreement();
    expect(agreement.labelled).toBe(6);
    expect(agreement.disagreements).toEqual({ open: 0, decided: 1 });
    const [people] = agreement.pairs.filter(({ second }) => second !== "rules");
    expect(people?.byType).toMatchObject({ n: 4, observed: 0.75 });
    const ruled = agreement.pairs.find(({ first, second }) => first === ada.person.pseudonym && second === "rules");
    // Half of the failures are assertions of a value, half are crashes.
    expect(ruled?.byType).toMatchObject({ n: 6, observed: 0.5, kappa: 0 });
    expect(ruled?.byClass.n).toBe(6);
    await clear();
    expect((await getLabelAgreement()).labelled).toBe(0);
  });

  it("hold every label with its history, under public names alone", async () => {
    const at = await nth(0);
    await say(ada, at, "resource", { note: "=cmd()\nsecond line" });
    await takeBack(ada);
    await say(ada, at, "value");
    const text = await (await getJsonLines(new Request(`${origin}/api/v1/labels.jsonl`))).text();
    const rows = text
      .trim()
      .split("\n")
      .map((line) => exportedLabelSchema.parse(JSON.parse(line)))
      .filter(({ grading, testNumber }) => grading === at.grading && testNumber === at.test);
    expect(rows.filter(({ counts }) => counts).map(({ type, by }) => [type, by])).toEqual([
      ["value", ada.person.pseudonym],
    ]);
    expect(rows.filter(({ source }) => source === "rule")).toHaveLength(1);
    expect(rows.some(({ note, withdrawnAt }) => note === "=cmd()\nsecond line" && withdrawnAt !== null)).toBe(true);
    const csv = await (await getCsv(new Request(`${origin}/api/v1/labels.csv`))).text();
    expect(csv.split(/\r?\n/)[0]).toMatch(/^label,at,suite,.*,counts$/);
    for (const { person } of [ada, bob, eve]) {
      expect(text + csv).not.toContain(person.email);
      expect(text + csv).not.toContain(person.id);
    }
    await clear();
  });
});
