import { expect, test } from "vitest";
import { visibleText } from "./visible-text";

test("what a terminal or a browser would act on becomes a sign, and everything else stays", () => {
  expect(visibleText("a\tb\nc \u001b[2K\u0007\0\r\u007f")).toBe("a\tb\nc ␛[2K␇␀␍␡");
  expect(visibleText("if x\u2066 == 1\u2069: \u202e\u200b\ufeff\u2028\u{e0041}")).toBe(
    "if x<U+2066> == 1<U+2069>: <U+202E><U+200B><U+FEFF><U+2028><U+E0041>",
  );
  const plain = "モデル مرحبا ✓ <b>&amp; 👩🏽";
  expect(visibleText(plain)).toBe(plain);
});
