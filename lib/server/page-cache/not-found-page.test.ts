import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writtenOut } from "./not-found-page.mjs";
import { memoryCache } from "./testing";

const dir = mkdtempSync(join(tmpdir(), "infradev-pages-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const empty = '<!DOCTYPE html><html id="__next_error__"><head></head><body></body></html>';
const page = (html: string, status: number) => ({ kind: "APP_PAGE", html, rscData: Buffer.from("x"), status });

test("before a build has made the page of unknown addresses, a page stays as it is", () => {
  expect(writtenOut(empty, dir)).toBe(empty);
});

test("a page that is not found is kept as the page of unknown addresses, with the policy of its scripts; others stay", async () => {
  const script = "(self.__next_f=self.__next_f||[]).push([0])";
  const whole = `<!DOCTYPE html><html lang="en"><title>Not found</title><script>${script}</script></html>`;
  mkdirSync(join(dir, "app"));
  writeFileSync(join(dir, "app", "_not-found.html"), whole);
  const cache = memoryCache(dir);
  const kept = async (key: string, html: string, status: number) => {
    await cache.set(key, page(html, status) as never, { cacheControl: undefined } as never);
    return (await cache.get(key, { kind: "APP_PAGE" } as never))?.value;
  };
  expect(await kept("/absent", empty, 404)).toMatchObject({
    html: whole,
    status: 404,
    headers: { "content-security-policy": expect.stringContaining("'sha256-") },
  });
  expect(await kept("/failed", empty, 500)).toMatchObject({ html: empty });
  expect(await kept("/found", "<p>text</p>", 200)).toMatchObject({ html: "<p>text</p>" });
});

test("a page that names what is not there is sent as not found, and one that quotes the statement is not", async () => {
  const statement = '<meta name="page-status" content="404"/>';
  const cache = memoryCache(dir);
  const statusOf = async (key: string, html: string) => {
    const value = page(html, 200);
    await cache.set(key, value as never, { cacheControl: undefined } as never);
    return value.status;
  };
  expect(await statusOf("/named", `<html><head>${statement}</head><body>There is no entry x.</body></html>`)).toBe(404);
  const quoted = statement.replace("<", "&lt;");
  expect(await statusOf("/quoted", `<html><body>${quoted}${JSON.stringify(statement)}</body></html>`)).toBe(200);
});
