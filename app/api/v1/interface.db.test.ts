import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import type { z } from "zod";
import { type ApiOperation, apiOperations, namedSchemas } from "@/lib/contract/api-operations";
import { problemResponseSchema } from "@/lib/contract/errors";
import type { openApiDocument } from "@/lib/contract/openapi";
import { regrade, withdraw } from "@/lib/server/admin/submissions";
import { ask, type PublicSite, routesBelow, startPublicSite } from "@/lib/server/testing-public";

// Outside of Next there is no request to wait for, and no cache.
vi.mock("next/server", () => ({ connection: async () => {}, after: () => {} }));
vi.mock("next/cache", () => ({ cacheTag: () => {}, cacheLife: () => {}, revalidateTag: () => {} }));

const runs = Number(process.env["INFRADEV_FUZZ"] ?? "500");
const seed = Number(process.env["INFRADEV_SEED"] ?? Date.now() % 2 ** 31);

let site: PublicSite;
let routes: Awaited<ReturnType<typeof routesBelow>>;
beforeAll(async () => {
  site = await startPublicSite(inject("testServerUrl"));
  routes = new Map([
    ...(await routesBelow("api/v1")),
    ...(await routesBelow("badge")),
    ...(await routesBelow("feed.xml")),
    ...(await routesBelow("sitemap.xml")),
  ]);
});
afterAll(() => site.close());

const schemaOf = (operation: ApiOperation): z.ZodType | null =>
  operation.answer.schema ? namedSchemas[operation.answer.schema] : null;
/** What an answer holds: itself, or the values of its lines. */
const valuesOf = async (answer: Response): Promise<unknown[]> =>
  answer.headers.get("content-type")?.startsWith("application/jsonl")
    ? (await answer.text()).split("\n").flatMap((line) => (line ? [JSON.parse(line)] : []))
    : [await answer.json()];
const filled = (path: string, params: Record<string, string>) =>
  path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    (params[name] ?? "").split("/").map(encodeURIComponent).join("/"),
  );

describe("the document", () => {
  it("names every route and no other, with its methods and the parameters of its path", () => {
    const spoken = [...routes].flatMap(([path, route]) =>
      path.startsWith("/api/v1/") && path !== "/api/v1/{path}"
        ? ["GET", "POST", "PATCH", "PUT", "DELETE"]
            .filter((method) => method in route)
            .map((method) => `${method} ${path}`)
        : [],
    );
    const documented = apiOperations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(new Set(documented)).toEqual(new Set(spoken));
    for (const { path, pathParameters } of apiOperations) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(Object.keys(pathParameters?.shape ?? {})).toEqual(names);
    }
    expect(new Set(apiOperations.map(({ id }) => id)).size).toBe(apiOperations.length);
  });

  it("is served, and every reference in it leads to a form", async () => {
    const answer = await ask(routes.get("/api/v1/openapi.json"), "/api/v1/openapi.json");
    const text = await answer.text();
    const { openapi, components } = JSON.parse(text) as ReturnType<typeof openApiDocument>;
    expect(openapi).toBe("3.1.0");
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(new Set(references)).toEqual(new Set(Object.keys(components.schemas)));
  });
});

describe("every answer", () => {
  const known = () => ({
    id: site.submissionId,
    suite: "synthetic-suite",
    version: "1.0",
    task: site.task,
    entry: "reference-gold",
    path: "payload/result.json",
  });

  it.each(
    apiOperations.filter(({ method }) => method === "get").map((operation) => [operation.path, operation] as const),
  )("has the form that the document says: %s", async (path, operation) => {
    const owner = path.includes("/gradings/")
      ? { id: site.gradingId }
      : path.includes("/attempts/")
        ? { id: site.attemptId }
        : {};
    const params = { ...known(), ...owner };
    const answer = await ask(routes.get(path), filled(path, params), params);
    // Nothing runs on this site, and nothing fails.
    if (operation.id === "getLiveLog" || operation.id === "getFailure") {
      expect(answer.status).toBe(404);
      return;
    }
    expect(answer.status).toBe(200);
    expect(answer.headers.get("etag")).toMatch(/^"[\w-]+"$/);
    if (path.includes("/files/")) return;
    expect(answer.headers.get("content-type")?.split(";")[0]).toBe(operation.answer.type);
    const schema = schemaOf(operation);
    for (const value of schema ? await valuesOf(answer) : []) schema?.parse(value);
  });

  const words = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constantFrom(
      "",
      " ",
      ".",
      "..",
      "../../etc/passwd",
      "%00",
      "\u0000",
      "'; drop table submission; --",
      "-1",
      "1e9",
      "NaN",
      "9".repeat(15),
      "9".repeat(400),
      "1.0",
      "99.99.99",
      "infradev",
      "interface",
      "pareto",
      "cost",
      "desc",
      "\u202eabc",
      "x".repeat(5000),
      "00000000-0000-0000-0000-000000000000",
    ),
    fc.uuid(),
  );
  const extra = ["/badge/{file}", "/feed.xml/", "/sitemap.xml/", "/api/v1/{path}"];

  it(`refuses bad parameters with a problem and never fails (${runs} requests, seed ${seed})`, async () => {
    const gets = apiOperations.filter(({ method }) => method === "get");
    const targets = [
      ...gets.map(({ path, pathParameters, query, answer }) => ({
        path: path as string,
        names: Object.keys(pathParameters?.shape ?? {}),
        query: Object.keys(query?.shape ?? {}),
        schema: answer.schema ? namedSchemas[answer.schema] : null,
      })),
      ...extra.map((path) => ({
        path,
        names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? ""),
        query: [] as string[],
        schema: null,
      })),
    ];
    let asked = 0;
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...targets),
        fc.array(words, { minLength: 12, maxLength: 12 }),
        fc.array(fc.constantFrom("bad", "bad", "good"), { minLength: 12, maxLength: 12 }),
        fc.array(fc.tuple(words, words), { maxLength: 3 }),
        async (target, values, kinds, others) => {
          const good: Record<string, string> = {
            id: target.path.includes("/gradings/") ? site.gradingId : site.submissionId,
            suite: "synthetic-suite",
            version: "1.0",
            task: site.task,
            entry: "reference-gold",
            path: "payload/result.json",
            file: `${site.submissionId}.svg`,
          };
          const params = Object.fromEntries(
            target.names.map((name, at) => [name, kinds[at] === "good" ? (good[name] ?? "") : (values[at] ?? "")]),
          );
          const query = new URLSearchParams(others);
          target.query.forEach((name, at) => {
            if (kinds[at + 2] === "bad") query.append(name, values[at + 2] ?? "");
          });
          let address: string;
          try {
            address = `${filled(target.path, params)}?${query}`;
          } catch {
            // Half of a surrogate pair cannot be sent.
            return;
          }
          const answer = await ask(routes.get(target.path), address, params);
          asked += 1;
          expect(answer.status).toBeLessThan(500);
          if (answer.status >= 400) {
            const { error } = problemResponseSchema.strict().parse(await answer.json());
            expect(error.code).toMatch(/^[a-z-]+(\.[a-z-]+)+$/);
          } else {
            answered += 1;
            for (const value of target.schema ? await valuesOf(answer) : []) target.schema?.parse(value);
          }
        },
      ),
      { numRuns: runs, seed },
    );
    expect(asked).toBeGreaterThan(runs / 2);
    expect(answered).toBeGreaterThan(0);
  }, 600_000);
});

describe("feed, badge and sitemap", () => {
  const text = async (path: string, address: string, params = {}) => {
    const answer = await ask(routes.get(path), address, params, { host: "bench.example.org:8080" });
    expect(answer.status).toBe(200);
    return answer.text();
  };
  const elements = (xml: string, name: string) =>
    [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, content]) => content);

  it("tells what was published, graded and queued again, and forgets what was withdrawn", async () => {
    await regrade(site.server, { submissionId: site.submissionId, task: null, reason: "a <wrong> limit & more" });
    const feed = await text("/feed.xml/", "/feed.xml");
    expect(elements(feed, "summary").some((one) => one?.includes("Reason: a &lt;wrong&gt; limit &amp; more."))).toBe(
      true,
    );
    expect(elements(feed, "title").filter((title) => title?.endsWith(": graded"))).toHaveLength(1);
    expect(elements(feed, "title").filter((title) => title?.endsWith(": published"))).toHaveLength(7);
    const times = elements(feed, "updated").slice(1);
    expect(times.every((time, index) => index === 0 || (times[index - 1] ?? "") >= (time ?? ""))).toBe(true);
    expect(new Set(elements(feed, "id")).size).toBe(elements(feed, "id").length);
    expect(feed).toContain(`href="http://bench.example.org:8080/submissions/${site.submissionId}"`);
  });

  it("draws a badge with its meaning as a title", async () => {
    const submission = await text("/badge/{file}", "/badge/x.svg", { file: `${site.submissionId}.svg` });
    expect(submission).toMatch(
      /role="img" aria-labelledby="title">\n<title id="title">reference: gold on Synthetic suite 1\.0: reference · 50\.0\u202f% resolved</,
    );
    const board = await (await ask(routes.get("/api/v1/board"), "/api/v1/board?suite=infradev")).json();
    const [row] = board.rows;
    const entry = await text("/badge/{file}", "/badge/x.svg", { file: `${row.entry.slug}.svg` });
    expect(entry).toContain(`rank ${row.rankSet[0]}\u2013${row.rankSet[1]} · 38.9\u202f% resolved`);
    const unknown = await ask(routes.get("/badge/{file}"), "/badge/none.svg", { file: "none.svg" });
    expect(unknown.status).toBe(404);
  });

  it("lists boards, submissions and graded tasks, and nothing else of the bench", async () => {
    const map = elements(await text("/sitemap.xml/", "/sitemap.xml"), "loc");
    expect(map).toContain("http://bench.example.org:8080/");
    expect(map).toContain(`http://bench.example.org:8080/submissions/${site.submissionId}/${site.task}`);
    expect(map.filter((address) => address?.includes(site.submissionId))).toHaveLength(2);
  });

  it("leaves a withdrawn submission out", async () => {
    await withdraw(site.server, site.submissionId, "of a test");
    for (const path of ["/feed.xml/", "/sitemap.xml/"])
      expect(await text(path, path.slice(0, -1))).not.toContain(site.submissionId);
    const gone = await ask(routes.get("/badge/{file}"), "/badge/x.svg", { file: `${site.submissionId}.svg` });
    expect(gone.status).toBe(404);
  });
});
