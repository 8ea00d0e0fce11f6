/*
 * Makes the matrix a grid: one tab stop, arrow keys, Home and End from cell to cell, Enter opens. The line above it says
 * the cell under the pointer or with the focus. Without it the table is one of plain links.
 */
(() => {
  /** What of a cell takes the focus: its link, or itself where it has none. */
  const focusOf = (cell) => cell.querySelector("a") ?? cell;
  const cellOf = (target) =>
    target instanceof Element ? target.closest(".matrix :is(td, thead th, tbody th[scope=row])") : null;
  /** The rows that the keys walk through: headings of groups span the table and are passed over. */
  const rowsOf = (table) => [...table.rows].filter(({ cells }) => cells.length > 1);

  /** Where a key leads from a cell, by row and column; null where the key is none of the grid's. */
  function moved(event, row, column, lastRow, lastColumn) {
    const far = event.ctrlKey || event.metaKey;
    switch (event.key) {
      case "ArrowRight":
        return [row, Math.min(column + 1, lastColumn)];
      case "ArrowLeft":
        return [row, Math.max(column - 1, 0)];
      case "ArrowDown":
        return [Math.min(row + 1, lastRow), column];
      case "ArrowUp":
        return [Math.max(row - 1, 0), column];
      case "Home":
        return [far ? 0 : row, 0];
      case "End":
        return [far ? lastRow : row, lastColumn];
      default:
        return null;
    }
  }

  function prepare() {
    const table = document.querySelector("table.matrix");
    if (!table) return;
    table.setAttribute("role", "grid");
    const cells = rowsOf(table).flatMap((row) => [...row.cells]);
    for (const cell of cells) focusOf(cell).tabIndex = -1;
    const entry = cells.find((cell) => cell.matches("td:has(a)")) ?? cells[0];
    if (entry) focusOf(entry).tabIndex = 0;
  }
  // In development the framework compares the table with its own first, and would find these attributes foreign.
  const whenIdle = () => (window.requestIdleCallback ? requestIdleCallback(prepare) : setTimeout(prepare));
  if (document.readyState === "complete") whenIdle();
  else window.addEventListener("load", whenIdle);

  /** The line above the table, with the words that it says at rest. */
  function lineOf(target) {
    const line = target instanceof Element ? target.closest(".matrix-grid")?.querySelector(".matrix-reading") : null;
    if (line) line.dataset.hint ??= line.textContent;
    return line;
  }

  function say(event) {
    const cell = cellOf(event.target);
    const line = lineOf(event.target);
    if (!cell || !line) return;
    const task = cell.closest("table").tHead?.rows[0]?.cells[cell.cellIndex]?.dataset.name;
    const entry = cell.parentElement.firstElementChild?.dataset.name;
    line.textContent = [entry, task, focusOf(cell).getAttribute("aria-label")].filter(Boolean).join(" · ");
  }

  function rest(event) {
    const line = lineOf(event.target);
    if (line) line.textContent = line.dataset.hint;
  }

  document.addEventListener("focusin", say);
  document.addEventListener("mouseover", say);
  document.addEventListener("focusout", rest);
  document.addEventListener("mouseout", rest);
  document.addEventListener("keydown", (event) => {
    const cell = cellOf(event.target);
    if (!cell) return;
    const rows = rowsOf(cell.closest("table"));
    const at = rows.indexOf(cell.parentElement);
    const to = moved(event, at, cell.cellIndex, rows.length - 1, (rows[0]?.cells.length ?? 1) - 1);
    if (!to) return;
    event.preventDefault();
    const next = rows[to[0]]?.cells[to[1]];
    if (!next) return;
    focusOf(cell).tabIndex = -1;
    focusOf(next).tabIndex = 0;
    focusOf(next).focus();
  });
})();
