import fc from "fast-check";
import { expect, it } from "vitest";
import { styledLine } from "./styled-line";

const textOf = (line: string) =>
  styledLine(line)
    .map(({ text }) => text)
    .join("");

it("dresses colours and weights, and ends them where the line says so", () => {
  expect(styledLine("\u001b[1;31mFAILED\u001b[0m tests")).toEqual([
    { text: "FAILED", classes: ["ansi-red", "ansi-bold"] },
    { text: " tests", classes: [] },
  ]);
  expect(styledLine("\u001b[92mok\u001b[39m, \u001b[44mon blue")).toEqual([
    { text: "ok", classes: ["ansi-green"] },
    { text: ", ", classes: [] },
    { text: "on blue", classes: ["ansi-on-blue"] },
  ]);
});

it("gives the colours of larger palettes the nearest class, and greys none", () => {
  const classes = (line: string) => styledLine(line)[0]?.classes;
  expect(classes("\u001b[38;5;196mred")).toEqual(["ansi-red"]);
  expect(classes("\u001b[38;5;208morange")).toEqual(["ansi-yellow"]);
  expect(classes("\u001b[38;2;20;30;200mblue")).toEqual(["ansi-blue"]);
  expect(classes("\u001b[38;5;240mgrey")).toEqual([]);
});

it("shows what is meant to be hidden, and what a terminal would do", () => {
  expect(textOf("\u001b[8msecret\u001b[28m")).toBe("secret");
  expect(textOf("\u001b]8;;https://evil.example\u001b\\click\u001b]8;;\u001b\\")).toBe(
    "␛]8;;https://evil.example␛\\click␛]8;;␛\\",
  );
  expect(textOf("\u001b]0;title\u0007\u001b[2K\u001b[1A10%\r20%\0")).toBe("␛]0;title␇␛[2K␛[1A10%␍20%␀");
  expect(textOf("a\u202eb\u2066c\u200bd\u009be")).toBe("a<U+202E>b<U+2066>c<U+200B>d<U+009B>e");
});

it("leaves text alone that looks like markup: it stays text", () => {
  const line = `<script>alert(1)</script> <b style="x" onclick='y'>&amp;`;
  expect(styledLine(line)).toEqual([{ text: line, classes: [] }]);
});

it("lets no control character through, and no class but its own, whatever the line holds", () => {
  const hostile = fc
    .array(
      fc.oneof(
        fc.string({ unit: "binary", maxLength: 12 }),
        fc.constantFrom(
          "\u001b[",
          "\u001b[31m",
          "\u001b[38;5;",
          "300m",
          ";",
          "m",
          "\u001b]8;;",
          "\u009b31m",
          "\u202e",
          "\0",
        ),
        fc.array(fc.nat(300), { maxLength: 6 }).map((codes) => `\u001b[${codes.join(";")}m`),
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join("").replaceAll("\n", ""));
  fc.assert(
    fc.property(hostile, (line) => {
      for (const { text, classes } of styledLine(line)) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the test
        expect(text).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        for (const name of classes) expect(name).toMatch(/^(?:ansi-(?:on-)?[a-z]+|log-control)$/);
      }
    }),
    { numRuns: 2000 },
  );
});
