import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { inertComponents, withoutFramework, withScriptsLater } from "./framework-scripts.mjs";
import { memoryCache } from "./testing";

const dir = mkdtempSync(join(tmpdir(), "infradev-scripts-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function writeManifest(page: string, modules: Record<string, number>) {
  const clientModules = Object.fromEntries(
    Object.entries(modules).map(([path, id]) => [`[project]/${path}`, { id, name: "*", chunks: [], async: false }]),
  );
  const folder = join(dir, "app", page);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "page_client-reference-manifest.js"),
    `globalThis.__RSC_MANIFEST = globalThis.__RSC_MANIFEST || {};\nglobalThis.__RSC_MANIFEST["/${page}/page"] = ${JSON.stringify({ moduleLoading: {}, clientModules })};`,
  );
}

writeManifest("", {
  "node_modules/next/dist/esm/client/components/layout-router.js": 1,
  "components/ui/nav-link.tsx": 2,
  "app/error.tsx": 3,
});
writeManifest("[id]", {
  "components/evidence/verify-button.tsx": 4,
  "node_modules/next/dist/client/script.js": 5,
  "node_modules/other/dist/button.js": 6,
});

const push = (text: string) =>
  `<script>self.__next_f.push(${JSON.stringify([1, text]).replaceAll("<", "\\u003c")})</script>`;
const row = (id: number) => `5:I[${id},["$2"],"Name"]\n`;
const document = (...rows: string[]) =>
  [
    '<!DOCTYPE html><!--build--><html><head><link rel="stylesheet" href="/_next/a.css"/>',
    '<link rel="preload" as="script" fetchPriority="low" href="/_next/main.js"/><script src="/_next/a.js" async=""></script>',
    '<script src="/site.js"></script></head><body><p>31<!-- -->/<!-- -->36 &lt;!-- kept --&gt;</p><!--$--><!--/$-->',
    '<script type="application/ld+json">{"a":"\\u003c!-- kept --"}</script>',
    '<script src="/_next/old.js" noModule=""></script><script src="/_next/main.js" id="_R_" async=""></script>',
    `<script>(self.__next_f=self.__next_f||[]).push([0])</script>${rows.map(push).join("")}</body></html>`,
  ].join("");

test("what works in the browser is told from what is inert there by the build's manifests", () => {
  expect(inertComponents(dir)).toEqual(new Set(["1", "2", "3"]));
  expect(inertComponents(join(dir, "absent"))).toEqual(new Set());
});

test("a page that nothing works by keeps its text, its data and the site's own scripts alone", () => {
  expect(withoutFramework(document(row(1) + row(2), row(3)), inertComponents(dir))).toBe(
    '<!DOCTYPE html><html><head><link rel="stylesheet" href="/_next/a.css"/><script src="/site.js"></script></head>' +
      "<body><p>31/36 &lt;!-- kept --&gt;</p>" +
      '<script type="application/ld+json">{"a":"\\u003c!-- kept --"}</script></body></html>',
  );
});

test.each([
  ["a component that works in the browser", row(1) + row(4)],
  ["the framework's own loader of scripts", row(5)],
  ["a component of a package", row(6)],
  ["a component that no manifest knows", row(1) + row(7)],
  ["no component at all, as where the data has another form", "0:{}\n"],
])("a page with %s keeps the framework", (_, rows) => {
  expect(withoutFramework(document(rows), inertComponents(dir))).toBeNull();
});

test("a component is known whose row goes on in another push", () => {
  for (const length of [1, 2, 3, 4, 5, 6]) {
    const [whole, meta] = [row(4), '<meta name="between"/>'];
    const page = document(row(1), whole.slice(0, length), whole.slice(length));
    expect(
      withoutFramework(page.replaceAll("</script><script>self", `</script>${meta}<script>self`), inertComponents(dir)),
    ).toBeNull();
  }
});

test("a page with an inline script of another form is left alone", () => {
  const page = document(row(1)).replace("</body>", "<script>alert(1)</script></body>");
  expect(withoutFramework(page, inertComponents(dir))).toBeNull();
});

test("scripts that come later are listed once each, in their order, and none is left to start at once", () => {
  const page = withScriptsLater(document(row(4)));
  expect(page).toContain(
    '<script type="application/json" id="later-scripts">["/_next/a.js","/_next/main.js"]</script><script src="/later.js" async=""></script></body>',
  );
  expect(page.match(/<(?:script|link)\b[^>]*(?:src|href)="[^"]*\.js"[^>]*>/g)).toEqual([
    '<script src="/site.js">',
    '<script src="/later.js" async="">',
  ]);
  expect(page).toContain(push(row(4)));
});

test("the cache sends a plain page under a policy without any inline script, another with its scripts later", async () => {
  const cache = memoryCache(dir);
  const sent = async (key: string, rows: string) => {
    const value = { kind: "APP_PAGE", html: document(rows), rscData: Buffer.from("x"), status: 200, headers: {} };
    await cache.set(key, value as never, { cacheControl: undefined } as never);
    return value as { html: string; headers: Record<string, string> };
  };
  const plain = await sent("/plain", row(1));
  expect(plain.html).not.toContain("__next_f");
  expect(plain.headers["content-security-policy"]).toBe("script-src 'self'");
  const working = await sent("/working", row(4));
  expect(working.html).toContain("later-scripts");
  expect(working.headers["content-security-policy"]).toMatch(/^script-src 'self' 'sha256-/);
});
