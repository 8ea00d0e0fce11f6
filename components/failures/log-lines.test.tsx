import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { styledLine } from "@/lib/server/logs/styled-line";
import { LogLines } from "./log-lines";

const hostile = [
  `<script>alert(1)</script><img src=x onerror="alert(1)"><style>*{display:none}</style>`,
  `"><a href="javascript:alert(1)">x</a>`,
  "\u001b]8;;javascript:alert(1)\u001b\\click\u001b]8;;\u001b\\",
  '\u001b[31m<b style="color:red">red</b>\u001b[0m \u001b[38;2;1;2;3mtrue\u001b[0m',
  "&lt;script&gt; \u202egnirts\u202c \0 \u2028",
];

test("nothing in a log becomes markup, style, handler or address", () => {
  const lines = hostile.map((text, index) => ({
    number: index + 1,
    pieces: styledLine(text),
    bytes: text.length,
    cut: index === 0,
  }));
  const markup = renderToStaticMarkup(
    <LogLines lines={lines} marked={[2]} hrefOf={(line) => `/logs/x?line=${line}#L${line}`} label="Lines" />,
  );
  const tags = [...markup.matchAll(/<([a-z]+)((?:\s+[\w-]+="[^"]*")*)\s*\/?>/g)];
  expect(new Set(tags.map(([, name]) => name))).toEqual(
    new Set(["table", "caption", "thead", "tr", "th", "tbody", "a", "td", "span"]),
  );
  const attributes = tags.flatMap(([, , text = ""]) => [...text.matchAll(/([\w-]+)="([^"]*)"/g)]);
  expect(new Set(attributes.map(([, name]) => name))).toEqual(
    new Set(["class", "scope", "id", "href", "rel", "aria-label"]),
  );
  for (const [, name, value = ""] of attributes) if (name === "href") expect(value).toMatch(/^\/logs\/x\?line=\d#L\d$/);
  expect(markup.match(/</g)).toHaveLength(tags.length + (markup.match(/<\//g)?.length ?? 0));
  expect(markup).toContain("cut here");
  expect(markup).toMatch(/class="log-line log-marked"/);
});

test("guard items are told apart from the task's tests, and nothing else is taken for one", () => {
  const shown = (text: string) =>
    renderToStaticMarkup(
      <LogLines
        lines={[{ number: 1, pieces: styledLine(text), bytes: text.length, cut: false }]}
        marked={[]}
        hrefOf={(line) => `#L${line}`}
        label="Lines"
      />,
    );
  for (const line of [
    "=== guard/test_b43e92691571.py::test_4ff9c9ca915e",
    "../guard/test_b43e92691571.py:3: in test_4ff9c9ca915e",
    "\u001b[31m/grade/guard/\u001b[0mtest_b43e92691571.py",
  ])
    expect(shown(line)).toContain("are guard items");
  for (const line of [
    "=== tests/test_guard.py::test_guard",
    "lib/guard/test_rank.py",
    "safeguard/test_b43e92691571.py",
  ])
    expect(shown(line)).not.toContain("guard items");
});
