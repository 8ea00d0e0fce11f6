import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import type { z } from "zod";
import {
  type ApiOperation,
  apiOperations,
  boardQuerySchema,
  listParameters,
  namedSchemas,
} from "@/lib/contract/api-operations";
import { problemResponseSchema } from "@/lib/contract/errors";
import { failureClasses, failureTypes, unclassified } from "@/lib/contract/failures-api";
import type { openApiDocument } from "@/lib/contract/openapi";
import { viewKeys } from "@/lib/prepare/board-view";
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
    const { openapi, info, components } = JSON.parse(text) as ReturnType<typeof openApiDocument>;
    expect(openapi).toBe("3.1.0");
    expect(info.description).toMatch(/does not list.* ignores it.* given twice is refused .*tier and cols/);
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

  it.each(apiOperations.map((operation) => [operation.id, operation] as const))(
    "refuses parameters that it does not know where it answers JSON, and those that are given twice: %s",
    async (_id, { method, path, query, answer: { type } }) => {
      const owned = /gradings|attempts/.exec(path)?.[0];
      const id = { gradings: site.gradingId, attempts: site.attemptId }[owned ?? ""] ?? site.submissionId;
      const params = { ...known(), id };
      const names = Object.keys(query?.shape ?? {});
      const handler = routes.get(path)?.[method.toUpperCase()] as (
        request: Request,
        context: { params: Promise<Record<string, string | string[]>> },
      ) => Promise<Response>;
      const answerTo = (text: string) => {
        const request = new Request(`http://bench.test${filled(path, params)}?${text}`, {
          method: method.toUpperCase(),
        });
        return handler(request, { params: Promise.resolve({ ...params, path: params.path.split("/") }) });
      };
      const refused = async (text: string) => {
        const answer = await answerTo(text);
        return { status: answer.status, ...problemResponseSchema.parse(await answer.json()).error };
      };
      if (type === "application/json") {
        expect(await refused("bogus=1")).toMatchObject({
          status: 422,
          code: "request.unknown-parameter",
          where: "query#bogus",
          rule: names.length > 0 ? expect.stringContaining(names.join(", ")) : `${path} takes no parameters`,
        });
      } else {
        const [plain, embedded] = [await answerTo(""), await answerTo("v=2&utm_source=x&fbclid=y&v=3")];
        expect(embedded.status).toBe(200);
        expect(await embedded.text()).toBe(await plain.text());
      }
      const [first] = names;
      if (first !== undefined)
        expect(await refused(`${first}=1&${first}=2`)).toMatchObject({
          status: 422,
          code: "request.repeated-parameter",
          where: `query#${first}`,
        });
    },
  );

  it.each(["", ".csv"])("takes the words of a list one by one, and no others: board%s", async (form) => {
    const path = `/api/v1/board${form}`;
    const words = { tier: ["reported", "signed"], cols: ["time", "cost"] };
    expect(Object.keys(words)).toEqual(listParameters);
    for (const [name, [one, other]] of Object.entries(words)) {
      const answer = (query: string) => ask(routes.get(path), `${path}?suite=infradev&${query}`);
      const joined = await answer(`${name}=${one},${other}`);
      const apart = await answer(`${name}=${one}&${name}=${other}`);
      expect([joined.status, apart.status]).toEqual([200, 200]);
      expect(await apart.text()).toBe(await joined.text());
      const wrong = await answer(`${name}=${one}&${name}=nosuch`);
      expect(wrong.status).toBe(422);
      expect(problemResponseSchema.parse(await wrong.json()).error.code).toBe("board.query");
    }
  });

  const questions = ["", "/overview", ".csv", "/clusters"].flatMap((form) =>
    (
      [
        ["type=nosuch", 422, "failures.query", "expected execution-api, "],
        ["class=nosuch", 422, "failures.query", "expected structural, "],
        ["category=nosuch", 422, "failures.query", ""],
        ["suite=nosuch", 404, "suite.unknown", "nosuch"],
        ["task=nosuch", 404, "task.unknown", "every suite: nosuch"],
        ["suite=synthetic-suite&version=1.0&task=nosuch", 404, "task.unknown", "synthetic-suite 1.0: nosuch"],
        ["repository=no/such", 404, "repository.unknown", "no/such"],
        ["entry=nosuch", 404, "entry.unknown", "nosuch"],
        ["model=nosuch", 404, "model.unknown", "nosuch"],
        [`submission=${"0".repeat(8)}-0000-4000-8000-${"0".repeat(12)}`, 404, "submission.unknown", "00000000"],
      ] as const
    ).map(([query, ...rest]) => [`/api/v1/failures${form}`, query, ...rest] as const),
  );
  it.each(questions)("%s?%s is answered by %i, %s", async (path, query, status, code, told) => {
    const answer = await ask(routes.get(path), `${path}?${query}`);
    const { error } = problemResponseSchema.parse(await answer.json());
    expect({ status: answer.status, code: error.code }).toEqual({ status, code });
    expect(`${error.message} ${error.where}`).toContain(told);
  });

  it("knows the names of what there is, and each type and class of the taxonomy", async () => {
    const { sql } = site.server.database;
    const types = await sql`select distinct class, type from taxonomy_type`;
    expect(new Set(types.map((row) => row["type"]))).toEqual(
      new Set(failureTypes.filter((word) => word !== unclassified)),
    );
    expect(new Set(types.map((row) => row["class"]))).toEqual(
      new Set(failureClasses.filter((word) => word !== unclassified)),
    );
    const [task] = await sql`select repo from task where slug = ${site.task}`;
    for (const query of [
      ...failureTypes.map((type) => `type=${type}`),
      ...failureClasses.map((one) => `class=${one}`),
      `task=${site.task}&entry=reference-gold&submission=${site.submissionId}`,
      `repository=${encodeURIComponent(String(task?.["repo"]))}&model=${encodeURIComponent("reference: gold")}`,
    ])
      expect((await ask(routes.get("/api/v1/failures"), `/api/v1/failures?${query}`)).status).toBe(200);
  });

  it.each([
    ["/api/v1/log", "from=99999999999999999999", "0 to 999999999999999"],
    ["/api/v1/log", "limit=99999999", "1 to 1000"],
    ["/api/v1/log", "limit=0", "1 to 1000"],
    ["/api/v1/failures", "page=99999999999", "1 to 999999"],
    ["/api/v1/failures/clusters", "page=0", "1 to 999999"],
    ["/api/v1/gradings/{id}/lines/{path}", "from=9007199254740993", "1 to 999999999999"],
    ["/api/v1/gradings/{id}/lines/{path}", "count=1001", "1 to 1000"],
    ["/api/v1/attempts/{id}/trajectory", "from=99999999", "1 to 9999999"],
    ["/api/v1/attempts/{id}/trajectory", "count=201", "1 to 200"],
    ["/api/v1/submissions/{id}/{task}/log", "offset=9007199254740993", "0 to 999999999999999"],
  ])("%s?%s is told its bounds: %s", async (path, query, bounds) => {
    const answer = await ask(routes.get(path), `${filled(path, known())}?${query}`, known());
    expect(answer.status).toBe(422);
    const { error } = problemResponseSchema.parse(await answer.json());
    expect(error.message).toMatch(new RegExp(`expected a whole number from ${bounds}$`));
  });

  it("knows every parameter of the site's own links", () => {
    const parameters = new Set(Object.keys(boardQuerySchema.shape));
    expect(viewKeys.filter((name) => !parameters.has(name))).toEqual(["page"]);
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
          const query = new URLSearchParams(kinds[0] === "bad" ? others : []);
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
