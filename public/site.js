/*
 * Every page: the reader's choice of theme, before the first paint; the key that leads to the search; the button that
 * copies the address. Without this script the page follows the system, and what works by scripts is not shown.
 */
(() => {
  const root = document.documentElement;
  const read = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  const keep = (name, value) => {
    try {
      if (value === null) localStorage.removeItem(name);
      else localStorage.setItem(name, value);
    } catch {
      /* the choice lasts as long as the page where storage is refused */
    }
  };

  const applyTheme = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  applyTheme(read("theme"));
  root.dataset.script = "on";

  // A reader may turn the key off, where speech or another program types keys.
  let searchKey = read("search-key") !== "off";
  const show = () => {
    const theme = document.getElementById("theme");
    if (theme) theme.value = root.dataset.theme ?? "system";
    const key = document.getElementById("search-key");
    if (key) key.checked = searchKey;
  };
  document.addEventListener("DOMContentLoaded", show);
  window.addEventListener("storage", (event) => {
    if (event.key === "theme") applyTheme(event.newValue);
    if (event.key === "search-key") searchKey = event.newValue !== "off";
    show();
  });
  // A page that the browser kept, shown again by its back button: the choice may be another since.
  window.addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    applyTheme(read("theme"));
    searchKey = read("search-key") !== "off";
    show();
  });
  document.addEventListener("change", ({ target }) => {
    if (target?.id === "theme") {
      applyTheme(target.value);
      keep("theme", target.value);
    }
    if (target?.id === "search-key") {
      searchKey = target.checked;
      keep("search-key", searchKey ? null : "off");
    }
  });

  document.addEventListener("keydown", (event) => {
    if (!searchKey || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.defaultPrevented || event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const field = document.getElementById("site-search");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });

  document.addEventListener("click", ({ target }) => {
    const says = target.closest?.(".copy-link")?.querySelector("[aria-live]");
    if (says) void copyAddress(says);
  });
  async function copyAddress(says) {
    try {
      await navigator.clipboard.writeText(location.href);
      says.textContent = "Link copied";
    } catch {
      says.textContent = "The browser refused to copy";
    }
  }
})();
