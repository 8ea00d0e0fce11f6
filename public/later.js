/*
 * Starts the scripts by which some part of the page works, listed at its end, once a reader does anything: a page is
 * read first. Where the address asks for a view that they draw, they start as soon as the page is painted. What is done
 * before they have taken over is not lost: a button is pressed again, and a filter stands in the address, where they look.
 */
(() => {
  let started = false;
  function start() {
    if (started) return;
    started = true;
    for (const src of JSON.parse(document.getElementById("later-scripts").textContent))
      document.head.append(Object.assign(document.createElement("script"), { src, async: true }));
  }
  function whenLoaded(then) {
    if (document.readyState === "complete") then();
    else window.addEventListener("load", then);
  }

  if (location.search)
    whenLoaded(() => {
      if (window.requestIdleCallback) requestIdleCallback(start, { timeout: 1000 });
      else setTimeout(start);
    });
  for (const sign of [
    "pointermove",
    "pointerdown",
    "touchstart",
    "wheel",
    "scroll",
    "keydown",
    "focusin",
    "click",
    "change",
  ])
    document.addEventListener(sign, () => whenLoaded(start), { once: true, passive: true, capture: true });

  // The window hears of it first: a framework that is about to take over stops what it cannot handle yet at the document.
  const first = (sign, then) => window.addEventListener(sign, then, { capture: true });
  const pressed = new WeakSet();
  first("click", (event) => {
    const button = event.target.closest?.("button[data-later]");
    if (!button) return;
    event.stopPropagation();
    whenLoaded(start);
    if (pressed.has(button)) return;
    pressed.add(button);
    const taken = new MutationObserver(() => {
      taken.disconnect();
      button.click();
    });
    taken.observe(button, { attributeFilter: ["data-later"] });
  });
  first("input", ({ target }) => {
    if (!target.name || !target.closest("[data-later]")) return;
    const query = new URLSearchParams(location.search);
    if (target.value) query.set(target.name, target.value);
    else query.delete(target.name);
    history.replaceState(null, "", `${location.pathname}${query.size > 0 ? `?${query}` : ""}${location.hash}`);
  });
})();
