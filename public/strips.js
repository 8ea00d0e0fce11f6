/*
 * Makes the cells of task strips reachable: under the pointer, and by the arrow keys once a strip has the focus, a cell
 * says its task and verdict, and the strip's link leads to that attempt. Without it each strip is one link, to its
 * submission, which lists the same attempts. What the cells are stands in the section as JSON (`strip-cells.tsx`).
 */
(() => {
  /** Where a key leads from a cell, -1 before the first; null where the key is none of the strip's. */
  function moved(key, index, last) {
    switch (key) {
      case "ArrowRight":
        return Math.min(index + 1, last);
      case "ArrowLeft":
        return Math.max(index - 1, 0);
      case "Home":
        return 0;
      case "End":
        return last;
      default:
        return null;
    }
  }

  const read = new WeakMap();
  /** The cell that the keys have reached; -1 before they reach one. */
  let chosen = -1;

  const stripOf = (target) => (target instanceof Element ? target.closest("a[data-strip]") : null);

  function sectionOf(strip) {
    const element = strip.closest(".strip-section");
    const json = element?.querySelector("script[type='application/json']");
    if (!json) return null;
    if (!read.has(element)) read.set(element, JSON.parse(json.textContent));
    return { element, cells: read.get(element) };
  }

  function place(element, { left, top, width, height }) {
    for (const [name, value] of Object.entries({ left, top, width, height }))
      if (value !== undefined) element.style.setProperty(name, `${value}px`);
    element.hidden = false;
  }

  function say(strip, index) {
    const { element, cells } = sectionOf(strip) ?? {};
    const task = cells?.tasks[index];
    const verdict = Number(strip.dataset.strip[index]);
    const drawing = strip.querySelector("svg");
    if (!task || !drawing) return;
    strip.dataset.submission ??= strip.getAttribute("href") ?? "";
    const { submission } = strip.dataset;
    strip.setAttribute("href", verdict === cells.missing ? submission : `${submission}/${task.slug}`);
    const outer = element.getBoundingClientRect();
    const inner = drawing.getBoundingClientRect();
    const scale = inner.width / cells.total;
    const left = inner.left - outer.left + cells.lefts[index] * scale;
    const top = inner.top - outer.top;
    place(element.querySelector(".strip-cursor"), {
      left,
      top,
      width: cells.width * scale,
      height: cells.height * scale,
    });
    const reading = element.querySelector(".strip-reading");
    reading.textContent = `${task.title}: ${cells.verdicts[verdict]}`;
    place(reading, {
      left: Math.max(0, Math.min(left, outer.width - Math.min(300, outer.width))),
      top: top + inner.height + 8,
    });
  }

  function leave(strip) {
    if (!strip) return;
    if (strip.dataset.submission) strip.setAttribute("href", strip.dataset.submission);
    chosen = -1;
    for (const shown of strip.closest(".strip-section")?.querySelectorAll(".strip-cursor, .strip-reading") ?? [])
      shown.hidden = true;
  }

  /** The cell nearest to a place along a strip. */
  function nearest({ lefts, width }, x) {
    const distances = lefts.map((left) => Math.abs(x - (left + width / 2)));
    return distances.indexOf(Math.min(...distances));
  }

  document.addEventListener("pointermove", (event) => {
    const strip = stripOf(event.target);
    const cells = strip && sectionOf(strip)?.cells;
    const box = strip?.querySelector("svg")?.getBoundingClientRect();
    if (cells && box) say(strip, nearest(cells, ((event.clientX - box.left) / box.width) * cells.total));
  });
  document.addEventListener("pointerout", (event) => leave(stripOf(event.target)));
  document.addEventListener("focusout", (event) => leave(stripOf(event.target)));
  document.addEventListener("keydown", (event) => {
    const strip = stripOf(event.target);
    const cells = strip && sectionOf(strip)?.cells;
    if (!cells) return;
    if (event.key === "Escape") leave(strip);
    const to = moved(event.key, chosen, cells.tasks.length - 1);
    if (to === null) return;
    event.preventDefault();
    chosen = to;
    say(strip, chosen);
  });
})();
