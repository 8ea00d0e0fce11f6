import { afterEach, describe, expect, it, vi } from "vitest";
import { prepareBoard } from "@/lib/prepare/board";
import { boardCard, rowCard } from "@/lib/prepare/share-card";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "@/lib/prepare/testing";
import { drawShareImage, shareImageSize } from "./draw";
import { cut, drawable, drawableName, imageFonts } from "./fonts";

const suite = syntheticSuite({ training: 2, inference: 1, rl: 1 });
const published = prepareBoard(factsOf({ ...syntheticSuite(publishedCounts), tasks: [] }, publishedRows()));

afterEach(() => vi.unstubAllGlobals());

describe("a card", () => {
  it("of a board holds its finding and first rows, and says the same in words", () => {
    const card = boardCard(published);
    expect(card.headline).toContain("Six models, one tie");
    expect(card.rows).toHaveLength(6);
    expect(card.rows[0]).toMatchObject({ label: "GPT-6 Sol", figure: "38.9\u202f%" });
    expect(card.alt).toContain("GPT-6 Sol: 38.9");
  });

  it("of a row holds its shares, each with its interval, and its standing", () => {
    const [row] = published.rows;
    if (!row) throw new Error("the board has rows");
    const card = rowCard({ row, suite: { version: "1.0", title: "Suite" } });
    expect(card.rows.map(({ label }) => label)).toEqual(["Resolved", "Training", "Inference", "RL"]);
    expect(card.rows[0]?.figure).toBe("14/36 · 38.9\u202f%");
    expect(card.foot).toBe("rank 1–6 · reported");
  });

  it("of an empty board has no rows", () => {
    expect(boardCard(prepareBoard(factsOf(suite, []))).rows).toEqual([]);
  });
});

describe("a text", () => {
  const { covered } = imageFonts();

  it("keeps what the fonts have, and loses nothing else without a sign", () => {
    expect(drawable("GPT-6 Größe Яндекс 38.9\u202f%", covered)).toBe("GPT-6 Größe Яндекс 38.9 %");
    expect(drawable("\u2068model\u2069\u0000", covered)).toBe("model");
    for (const text of ["通义千问", "نموذج", "🙂"]) {
      const drawn = drawable(`${text}-3`, covered);
      expect(drawn).toMatch(/^.-3$/);
      expect([...drawn].every((character) => covered.has(character.codePointAt(0) ?? 0))).toBe(true);
    }
  });

  it("gives way to a name in plain letters where the fonts lack some of its own", () => {
    expect(drawableName("通义千问-3", "m-1a2b", covered)).toBe("m-1a2b");
    expect(drawableName("Größe?", "m-1a2b", covered)).toBe("Größe?");
  });

  it("is cut with an ellipsis", () => {
    expect(cut("abcdef", 6)).toBe("abcdef");
    expect(cut("abcdefg", 6)).toBe("abcde…");
  });
});

it("is drawn as a PNG of its size, whatever the names, and fetches nothing", async () => {
  const fetched: string[] = [];
  const { fetch } = globalThis;
  // the renderer reads its own program from an address that holds it
  vi.stubGlobal("fetch", (address: string | URL) => {
    if (String(address).startsWith("data:")) return fetch(address);
    fetched.push(String(address));
    return Promise.reject(new Error("nothing may be fetched"));
  });
  const names = ["x".repeat(120), "通义千问-3", "نموذج عربي", "🙂🙂 <b>&amp;", "a ".repeat(60)];
  const board = prepareBoard(
    factsOf(
      suite,
      names.map((name, index) => {
        const row = gradedRow(suite, `m${index}`, [1, index % 2, 0, 0]);
        return { ...row, entry: { ...row.entry, model: name } };
      }),
    ),
  );
  const image = Buffer.from(await drawShareImage(boardCard(board)));
  expect(image.subarray(1, 4).toString()).toBe("PNG");
  expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([shareImageSize.width, shareImageSize.height]);
  expect(fetched).toEqual([]);
});
