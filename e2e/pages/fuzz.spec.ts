import { readdirSync, readFileSync } from "node:fs";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { suitesAnswerSchema } from "../../lib/contract/api";
import { apiOperations } from "../../lib/contract/api-operations";
import * as vocabulary from "../../lib/contract/vocabulary";
import { repositoryRoot } from "../stack";
import { expect, test } from "./fixtures";

const requests = Number(process.env["INFRADEV_FUZZ"] ?? "500");
const seed = Number(process.env["INFRADEV_SEED"] ?? Date.now() % 2 ** 31);
/** Asked at once. */
const lanes = 4;
/** Longer than any answer takes on the slowest machine: what is silent for so long hangs. */
const patienceMs = 60_000;

/** A route as its folders spell it: `[id]` and `[...path]` are parameters. */
interface Route {
  segments: string[];
  page: boolean;
}

/** Every page and every route handler, from the folders that the framework reads: a new one cannot be forgotten. */
function listRoutes(): Route[] {
  const files = readdirSync(join(repositoryRoot, "app"), { recursive: true, encoding: "utf8" });
  return files
    .map((file) => /^(?:(.*)\/)?(page|route)\.tsx?$/.exec(file))
    .filter((match) => match !== null)
    .map(([, folder = "", kind]) => ({
      segments: folder.split("/").filter((segment) => segment !== "" && !/^\(.*\)$/.test(segment)),
      page: kind === "page",
    }));
}

const spelled = ({ segments }: Route) => `/${segments.join("/")}`;
const isParameter = (segment: string) => segment.startsWith("[");

/** Names of the queries that some page or route reads, and of none. */
const queryNames = [
  ...new Set([
    ...[...readFileSync(join(repositoryRoot, "proxy.ts"), "utf8").matchAll(/key: "(\w+)"/g)].map(([, key = ""]) => key),
    ...apiOperations.flatMap(({ query }) => Object.keys(query?.shape ?? {})),
    "page",
    "q",
    "a",
    "b",
    "",
  ]),
];

const garbage = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.uuid(),
  fc.constantFrom(
    "",
    " ",
    ".",
    "..",
    "../../../etc/passwd",
    "\u0000",
    "\u0007\u001b[2J",
    "\r\nX-Injected: yes",
    "'; drop table submission; --",
    "<script>alert(1)</script>",
    "-1",
    "1e9",
    "NaN",
    "9".repeat(15),
    "9".repeat(400),
    "x".repeat(4000),
    "99.99.99",
    "\u202eabc\u202c",
    "مهمة",
    "任务",
    "__proto__",
    "constructor",
    "00000000-0000-0000-0000-000000000000",
  ),
);
/** Sent as they are: escapes that are wrong, that mean a slash or a dot, or that decode to no text. */
const escapes = fc.constantFrom(
  "%",
  "%0",
  "%zz",
  "%00",
  "%2e%2e",
  "%2f",
  "%5c",
  "%25",
  "%ff",
  "%E0%A4%A",
  "%u0041",
  "+",
);

/** Spells a text for an address; half a surrogate pair has no spelling and becomes the sign for it. */
const escaped = (text: string) => encodeURIComponent(text.replaceAll(/[\ud800-\udfff]/gu, "\ufffd"));

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: lanes });

/** Sends an address untouched, which fetch would tidy up. */
function ask(base: URL, method: string, address: string, body: string | null): Promise<Answer> {
  return new Promise((settle, reject) => {
    const sent = request(
      {
        host: base.hostname,
        port: base.port,
        method,
        path: address,
        agent,
        timeout: patienceMs,
        headers: body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.once("error", reject);
        answer.once("end", () =>
          settle({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(chunks).toString("utf8"),
          }),
        );
      },
    );
    sent.once("timeout", () => sent.destroy(new Error(`no answer within ${patienceMs} ms`)));
    sent.once("error", reject);
    sent.end(body ?? undefined);
  });
}

/** What is wrong with an answer; null where nothing is. */
function faultOf({ status, headers, text }: Answer, method: string): string | null {
  if (status < 200 || status >= 500) return `status ${status}: ${text.slice(0, 200)}`;
  if (headers["x-injected"]) return "a header came from the address";
  if (method !== "GET" || !headers["content-type"]?.startsWith("text/html")) return null;
  if (status >= 300 && status < 400) return null;
  if (!/<title>[^<]+<\/title>/.test(text)) return `a page without its title (status ${status})`;
  if (!/<h1[\s>]/.test(text)) return `a page without its heading (status ${status})`;
  return text.trimEnd().endsWith("</html>") ? null : "a page that is cut short";
}

test(`no address brings the site down (${requests} requests)`, async ({ site, baseURL, request: api }) => {
  console.log(`fuzz: seed ${seed} (INFRADEV_SEED repeats it)`);
  test.setTimeout(120_000 + requests * 1000);
  const base = new URL(baseURL ?? "");
  const routes = listRoutes();
  expect(routes.length).toBeGreaterThan(30);

  const mutant = await site.reference("mutant-1");
  const { suites } = suitesAnswerSchema.parse(await (await api.get("/api/v1/suites")).json());
  const known: Record<string, string[]> = {
    id: [
      mutant.id,
      site.published.rows[0]?.submissionId ?? "",
      ...mutant.attempts.flatMap(({ grading }) => grading?.id ?? []),
    ],
    task: mutant.attempts.map(({ task }) => task),
    suite: suites.map(({ slug }) => slug),
    version: suites.map(({ version }) => version),
    entry: [...site.published.rows, ...site.mini.references].map(({ entry }) => entry.slug),
    file: [`${mutant.id}.svg`, ...site.published.rows.map(({ entry }) => `${entry.slug}.svg`)],
    path: ["payload/result.json", "0/000", "entries/000", "payload/tests.ctrf.json"],
    condition: [...vocabulary.promptConditions],
  };
  const words = fc.constantFrom(
    ...Object.values(known).flat(),
    ...Object.values(vocabulary).flatMap((value) => (Array.isArray(value) ? (value as string[]) : [])),
    "1",
    "2",
    "table",
    "none",
  );
  const plain = (text: string) => text.split("/").map(escaped).join("/");
  const argument = (name: string) =>
    fc.oneof(
      { weight: 4, arbitrary: known[name] ? fc.constantFrom(...known[name]).map(plain) : words.map(plain) },
      { weight: 2, arbitrary: words.map(plain) },
      { weight: 3, arbitrary: garbage.map(escaped) },
      { weight: 1, arbitrary: fc.tuple(words, escapes).map((parts) => parts.join("")) },
    );
  const segmentOf = (segment: string): fc.Arbitrary<string> => {
    const name = segment.replaceAll(/[[\].]/g, "");
    if (!isParameter(segment)) return fc.constant(segment);
    if (!segment.includes("...")) return argument(name);
    return fc
      .array(argument(name), { minLength: segment.startsWith("[[") ? 0 : 1, maxLength: 10 })
      .map((values) => values.join("/"));
  };
  const queryPair = fc
    .constantFrom(...queryNames)
    .chain((name) =>
      fc.tuple(
        fc.oneof(
          { weight: 6, arbitrary: fc.constant(name) },
          { weight: 1, arbitrary: fc.constantFrom(`${name}[]`, `${name}[a]`, name.toUpperCase()) },
          { weight: 1, arbitrary: garbage.map(escaped) },
        ),
        argument(name),
      ),
    );
  const query = fc
    .array(queryPair, { maxLength: 5 })
    .map((pairs) => (pairs.length === 0 ? "" : `?${pairs.map(([name, value]) => `${name}=${value}`).join("&")}`));
  const methods = (route: Route) =>
    route.page
      ? fc.constantFrom("GET", "GET", "GET", "HEAD")
      : fc.constantFrom("GET", "GET", "POST", "PATCH", "DELETE");
  const asked = fc.constantFrom(...routes).chain((route) =>
    fc.record({
      route: fc.constant(spelled(route)),
      method: methods(route),
      path: fc.tuple(...route.segments.map(segmentOf)).map((segments) => `/${segments.join("/")}`),
      query,
      body: fc.oneof(fc.json(), garbage),
    }),
  );

  const queue = fc.sample(asked, { numRuns: requests, seed });
  // Every route at least once, with what it knows of its own.
  for (const route of routes)
    for (const path of fc.sample(fc.tuple(...route.segments.map(segmentOf)), { numRuns: 2, seed }))
      queue.push({ route: spelled(route), method: "GET", path: `/${path.join("/")}`, query: "", body: "" });

  const faults: string[] = [];
  const statuses = new Map<number, number>();
  const ways = Array.from({ length: lanes }, async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const { method, path, query: asks, body } = next;
      const carries = method !== "GET" && method !== "HEAD";
      const fault = await ask(base, method, path + asks, carries ? body : null).then(
        (answer) => {
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          return faultOf(answer, method);
        },
        (error: Error) => error.message,
      );
      if (fault) faults.push(`${method} ${(path + asks).slice(0, 400)}\n  ${fault}`);
    }
  });
  await Promise.all(ways);
  agent.destroy();
  expect(faults.slice(0, 10), `${faults.length} faults; INFRADEV_SEED=${seed} repeats them`).toEqual([]);
  // Valid words and garbage both arrived.
  expect(statuses.get(200) ?? 0).toBeGreaterThan(requests / 20);
  expect(statuses.get(404) ?? 0).toBeGreaterThan(requests / 20);
  expect((await fetch(new URL("/healthz", base))).status).toBe(200);
});
