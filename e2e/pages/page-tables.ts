import type { Page } from "@playwright/test";

/** A table of a page as read: its caption, and each row's cells by their column's name. */
export interface PageTable {
  caption: string;
  rows: Record<string, string>[];
}

/**
 * Every table of the page that is open. A column's name is its header's first text, without the explanation that
 * appears on focus; a cell's text has a space between its parts, and the signs of direction left out.
 */
export function readTables(page: Page): Promise<PageTable[]> {
  return page.evaluate(() => {
    const clean = (text: string | null | undefined) =>
      (text ?? "")
        .replaceAll(/[\u2066-\u2069]/g, "")
        .replaceAll(/\s+/g, " ")
        .trim();
    const textOf = (cell: Element) => {
      const copy = cell.cloneNode(true) as Element;
      for (const hint of copy.querySelectorAll('[role="tooltip"], svg title, svg desc')) hint.remove();
      const walker = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
      const texts: string[] = [];
      for (let node = walker.nextNode(); node; node = walker.nextNode()) texts.push(node.textContent ?? "");
      return clean(texts.join(" ")).replaceAll(" / ", "/").replaceAll(" ,", ",");
    };
    return [...document.querySelectorAll("table")].map((table) => {
      const names = [...(table.querySelector("thead tr:last-child")?.children ?? [])].map(textOf);
      return {
        caption: clean(table.caption?.textContent),
        rows: [...table.querySelectorAll("tbody tr")].map((row) =>
          Object.fromEntries([...row.children].map((cell, index) => [names[index] ?? String(index), textOf(cell)])),
        ),
      };
    });
  });
}
