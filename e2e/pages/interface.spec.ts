import { boardAnswerSchema } from "../../lib/contract/api";
import { expect, test } from "./fixtures";

test("every export of the board answers, each in its own type", async ({ page }) => {
  await page.goto("/?suite=infradev&category=rl");
  await page.getByText("Export", { exact: true }).click();
  const types = {
    CSV: "text/csv",
    JSON: "application/json",
    Markdown: "text/markdown",
    BibTeX: "application/x-bibtex",
  };
  for (const [name, type] of Object.entries(types)) {
    const href = (await page.getByRole("link", { name, exact: true }).getAttribute("href")) ?? "";
    expect(href).toContain("category=rl");
    const answer = await page.request.get(href);
    expect(answer.status(), href).toBe(200);
    expect(answer.headers()["content-type"]).toContain(type);
  }
});

test("the board describes itself as a dataset under the strict policy", async ({ page, site }) => {
  const answer = await page.goto("/?suite=infradev");
  expect(await answer?.headerValue("content-security-policy")).toMatch(/, script-src 'self'$/);
  const text = await page.locator('script[type="application/ld+json"]').textContent();
  const dataset = JSON.parse(text ?? "") as { "@type": string; name: string; distribution: { contentUrl: string }[] };
  expect(dataset["@type"]).toBe("Dataset");
  expect(dataset.name).toContain(site.published.suite.title);
  const [json] = dataset.distribution;
  const twin = boardAnswerSchema.parse(await (await page.request.get(json?.contentUrl ?? "")).json());
  expect(twin.rows).toEqual(site.published.rows);
});

test("pages that are read load the site's own scripts alone, under a policy that lets no inline script run", async ({
  request,
  site,
}) => {
  const mutant = await site.reference("mutant-1");
  for (const address of [
    "/",
    "/?suite=infradev-mini&view=matrix",
    "/tasks",
    "/tasks/infradev-mini/1.0/router-abort-leak",
    `/submissions/${mutant.id}`,
    "/entries/gpt-6-sol",
    "/compare?a=gpt-6-sol&b=glm-5.3",
    "/probes",
    "/failures",
    "/search?q=router",
    "/docs/methodology",
  ]) {
    const answer = await request.get(address);
    const policies = answer.headersArray().filter(({ name }) => name.toLowerCase() === "content-security-policy");
    expect(policies.at(-1)?.value, address).toBe("script-src 'self'");
    const scripts = [...(await answer.text()).matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag);
    expect(
      scripts.filter((tag) => !/ src="\/[a-z]+\.js"| type="application\/(ld\+)?json"/.test(tag)),
      address,
    ).toEqual([]);
  }
});

test("a page that works by scripts asks for them when its reader does something, which counts too", async ({
  page,
  site,
}) => {
  const scripts: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (request.resourceType() === "script" && pathname.startsWith("/_next/")) scripts.push(pathname);
  });
  const gold = await site.reference("gold");
  await page.goto(`/submissions/${gold.id}/${gold.attempts[0]?.task}`, { waitUntil: "networkidle" });
  expect(scripts).toEqual([]);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByRole("status")).toHaveText(/^All \d+ checks hold/);
  expect(scripts.length).toBeGreaterThan(0);
});

test("other origins may read, by a tag that says whether it still holds", async ({ request }) => {
  const first = await request.get("/api/v1/board?suite=infradev", { headers: { origin: "https://elsewhere.example" } });
  expect(first.headers()["access-control-allow-origin"]).toBe("*");
  const etag = first.headers()["etag"] ?? "";
  expect(etag).toMatch(/^(W\/)?"/);
  const again = await request.get("/api/v1/board?suite=infradev", { headers: { "if-none-match": etag } });
  expect(again.status()).toBe(304);
  const preflight = await request.fetch("/api/v1/board", {
    method: "OPTIONS",
    headers: { origin: "https://elsewhere.example", "access-control-request-method": "GET" },
  });
  expect(preflight.ok()).toBe(true);
  expect(preflight.headers()["access-control-allow-methods"]).toBe("GET, HEAD, OPTIONS");
});

test("what is asked for wrongly is refused with a problem, never with a failure", async ({ request }) => {
  for (const [path, status] of [
    ["/api/v1/board?sort=nonsense", 422],
    ["/api/v1/board?suite=none", 404],
    ["/api/v1/board.csv?version=..", 422],
    ["/api/v1/log?from=-1", 422],
    ["/api/v1/submissions/none", 404],
    ["/api/v1/no/such/thing", 404],
    ["/badge/none.svg", 404],
  ] as const) {
    const answer = await request.get(path);
    expect(answer.status(), path).toBe(status);
    expect(((await answer.json()) as { error: { code: string } }).error.code).toMatch(/^[a-z-]+\.[a-z-]+$/);
  }
});

test("feed, sitemap, robots and badge are what their names say", async ({ request, site }) => {
  const feed = await request.get("/feed.xml");
  expect(feed.headers()["content-type"]).toContain("application/atom+xml");
  expect(await feed.text()).toContain("<feed xmlns");
  const map = await request.get("/sitemap.xml");
  const addresses = [...(await map.text()).matchAll(/<loc>(.*?)<\/loc>/g)].map(([, address = ""]) =>
    address.replaceAll("&amp;", "&"),
  );
  expect(addresses.length).toBeGreaterThan(10);
  for (const address of addresses.slice(0, 12)) expect((await request.get(address)).status(), address).toBe(200);
  expect(await (await request.get("/robots.txt")).text()).toMatch(/^Sitemap: http.*\/sitemap\.xml$/m);
  const [row] = site.published.rows;
  const badge = await request.get(`/badge/${row?.entry.slug}.svg`);
  expect(badge.headers()["content-type"]).toContain("image/svg+xml");
  expect(await badge.text()).toMatch(/<title id="title">GPT-6 Sol on InfraDev 1\.0: rank 1–6 · 38\.9/);
});

test("the reference lists every operation of the document", async ({ page, request }) => {
  const document = (await (await request.get("/api/v1/openapi.json")).json()) as { paths: Record<string, object> };
  await page.goto("/docs/api");
  for (const path of Object.keys(document.paths))
    await expect(
      page
        .getByRole("heading", { level: 3, name: new RegExp(`^(GET|POST|PATCH) ${path.replaceAll(/[{}.]/g, "\\$&")}$`) })
        .first(),
    ).toBeVisible();
});
