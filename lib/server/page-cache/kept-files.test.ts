import { expect, test } from "vitest";
import { parseView, viewPath } from "@/lib/prepare/board-view";
import PageCache from "./handler.mjs";
import { fileKeeper } from "./kept-files.mjs";

const page = (status?: number) => ({ kind: "APP_PAGE", html: "<p>text</p>", rscData: Buffer.from("x"), status });

test("no more pages than the limit become files; those that are files stay renewable", () => {
  const keeps = fileKeeper(2);
  expect(["/a", "/b", "/c", "/a", "/b"].map((key) => keeps(key, page()))).toEqual([true, true, false, true, true]);
});

test("a page that is not found takes no place, and what is no page is never refused", () => {
  const keeps = fileKeeper(1);
  expect(keeps("/absent", page(404))).toBe(false);
  expect(keeps("/a", page(200))).toBe(true);
  expect(keeps("/fetch", { kind: "FETCH" })).toBe(true);
  expect(keeps("/gone", null)).toBe(true);
});

test("a board's views are kept, its filters and columns in memory alone", () => {
  const keeps = fileKeeper();
  const keyOf = (query: string) => viewPath(parseView(new URLSearchParams(query)));
  expect(["", "suite=mini&sort=cost", "page=2"].map((query) => keeps(keyOf(query), page()))).toEqual([
    true,
    true,
    true,
  ]);
  for (const query of ["suite=mini&model=a", "sort=cost&cols=time", "tier=signed", "data=per-task", "effort=high"])
    expect(keeps(keyOf(query), page()), query).toBe(false);
});

test("of trajectories and logs, of which there is no end, nothing becomes a file", () => {
  const keeps = fileKeeper();
  for (const path of ["/trajectories/id", "/trajectory-view/51/0/id", "/logs/id/file", "/log-view/1/0/id"])
    expect(keeps(path, page()), path).toBe(false);
});

test("the cache writes a page that is found, and nothing of one that is not, which it still serves from memory", async () => {
  const written: string[] = [];
  const cache = new PageCache({
    fs: {
      mkdir: async () => undefined,
      writeFile: async (path: string) => void written.push(path),
      existsSync: () => false,
      readFile: async () => Promise.reject(new Error("absent")),
    },
    flushToDisk: true,
    serverDistDir: "/dist",
    revalidatedTags: [],
    maxMemoryCacheSize: 1_000_000,
  } as never);
  await cache.set("/board/found", page(200) as never, { cacheControl: undefined } as never);
  expect(written.some((path) => path.endsWith("/board/found.html"))).toBe(true);
  written.length = 0;
  await cache.set("/board/absent", page(404) as never, { cacheControl: undefined } as never);
  expect(written).toEqual([]);
  const found = await cache.get("/board/absent", { kind: "APP_PAGE" } as never);
  expect(found?.value).toMatchObject({ status: 404 });
});
