"use client";

import { type KeyboardEvent, type ReactNode, type SyntheticEvent, useEffect, useRef, useState } from "react";

type Cell = HTMLTableCellElement;

/** What of a cell takes the focus: its link, or itself where it has none. */
const focusOf = (cell: Cell): HTMLElement => cell.querySelector<HTMLElement>("a") ?? cell;

const cellOf = (target: EventTarget): Cell | null =>
  target instanceof Element ? target.closest<Cell>("td, thead th, tbody th[scope=row]") : null;

/** The rows that the keys walk through: headings of groups span the table and are passed over. */
const rowsOf = (table: HTMLTableElement) => [...table.rows].filter(({ cells }) => cells.length > 1);

/** Where a key leads from a cell, by row and column; null where the key is none of the grid's. */
function moved(event: KeyboardEvent, row: number, column: number, lastRow: number, lastColumn: number) {
  const far = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowRight":
      return [row, Math.min(column + 1, lastColumn)] as const;
    case "ArrowLeft":
      return [row, Math.max(column - 1, 0)] as const;
    case "ArrowDown":
      return [Math.min(row + 1, lastRow), column] as const;
    case "ArrowUp":
      return [Math.max(row - 1, 0), column] as const;
    case "Home":
      return [far ? 0 : row, 0] as const;
    case "End":
      return [far ? lastRow : row, lastColumn] as const;
    default:
      return null;
  }
}

/**
 * Makes the table inside it a grid: one tab stop, arrow keys, Home and End from cell to cell, Enter opens. The line above
 * it says the cell under the pointer or with the focus. Without it the table is one of plain links.
 */
export function GridKeys({ hint, children }: { hint: string; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [reading, setReading] = useState<string | null>(null);

  useEffect(() => {
    const table = place.current?.querySelector("table");
    if (!table) return;
    table.setAttribute("role", "grid");
    const cells = rowsOf(table).flatMap((row) => [...row.cells]);
    for (const cell of cells) focusOf(cell).tabIndex = -1;
    const entry = cells.find((cell) => cell.matches("td:has(a)")) ?? cells[0];
    if (entry) focusOf(entry).tabIndex = 0;
  }, []);

  function say(event: SyntheticEvent) {
    const cell = cellOf(event.target);
    const table = cell?.closest("table");
    if (!cell || !table) return;
    const name = (header: Element | null | undefined) => header?.getAttribute("data-name");
    const task = name(table.tHead?.rows[0]?.cells[cell.cellIndex]);
    const entry = name(cell.parentElement?.firstElementChild);
    const says = focusOf(cell).getAttribute("aria-label");
    setReading([entry, task, says].filter(Boolean).join(" · "));
  }

  function step(event: KeyboardEvent) {
    const cell = cellOf(event.target);
    const table = cell?.closest("table");
    if (!cell || !table) return;
    const rows = rowsOf(table);
    const at = rows.indexOf(cell.parentElement as HTMLTableRowElement);
    const to = moved(event, at, cell.cellIndex, rows.length - 1, (rows[0]?.cells.length ?? 1) - 1);
    if (!to) return;
    event.preventDefault();
    const next = rows[to[0]]?.cells[to[1]];
    if (!next) return;
    focusOf(cell).tabIndex = -1;
    focusOf(next).tabIndex = 0;
    focusOf(next).focus();
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it moves the focus among the links inside
    <div
      ref={place}
      onKeyDown={step}
      onFocus={say}
      onMouseOver={say}
      onBlur={() => setReading(null)}
      onMouseLeave={() => setReading(null)}
    >
      <p className="matrix-reading">{reading ?? hint}</p>
      {children}
    </div>
  );
}
