import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { joinPushes, scriptPolicyOf } from "./inline-scripts.mjs";

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const start = "(self.__next_f=self.__next_f||[]).push([0])";
const data = 'self.__next_f.push([1,"a:[\\"$\\",\\"b\\"]\\n"])';
const page = (...scripts: string[]) =>
  `<!DOCTYPE html><script src="/a.js"></script>${scripts.map((text) => `<script id="x">${text}</script>`).join("<p>text</p>")}`;

test("the framework's own inline scripts are named by their hashes", () => {
  expect(scriptPolicyOf(page(start, data))).toBe(`script-src 'self' ${hashOf(start)} ${hashOf(data)}`);
});

test("a script of any other form gets no hash, whatever it begins or ends with", () => {
  const hostile = [
    "alert(1)",
    "self.__next_f.push([1,alert(1)])",
    'self.__next_f.push([1,"a"]);alert(1)',
    'self.__next_f.push([1,"a"]),alert(1)',
    'alert(1);self.__next_f.push([1,"a"])',
    "self.__next_f.push(alert(1))",
  ];
  expect(scriptPolicyOf(page(start, ...hostile))).toBe(`script-src 'self' ${hashOf(start)}`);
});

test("a page without inline scripts, or with more than a header can name, keeps the general policy", () => {
  expect(scriptPolicyOf("<p>nothing</p>")).toBeNull();
  const many = Array.from({ length: 500 }, (_, index) => `self.__next_f.push([1,"${index}"])`);
  expect(scriptPolicyOf(page(...many))).toBeNull();
});

test("neighbouring pieces of the page's data become one script that pushes the same text", () => {
  const texts = ['a:["$","b"]\n', "\\ \u2028", "é\n"];
  const push = (text: string) => `<script>self.__next_f.push(${JSON.stringify([1, text])})</script>`;
  const [first = "", ...others] = texts.map(push);
  const apart = '<p>"])</p>';
  const page = `${first}${others.join("")}${apart}${push("later")}<script>alert(1)</script>`;
  expect(joinPushes(page)).toBe(`${push(texts.join(""))}${apart}${push("later")}<script>alert(1)</script>`);
  const many = Array.from({ length: 500 }, (_, index) => push(`${index}`)).join("");
  expect(scriptPolicyOf(joinPushes(many))).toMatch(/^script-src 'self' '\S+'$/);
});
