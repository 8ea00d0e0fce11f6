/* Applies the reader's choice of theme before the first paint, and keeps it. Without this script the page follows the system. */
(() => {
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const apply = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  apply(read());
  root.dataset.script = "on";
  const show = () => {
    const select = document.getElementById("theme");
    if (select) select.value = root.dataset.theme ?? "system";
  };
  document.addEventListener("DOMContentLoaded", show);
  window.addEventListener("storage", (event) => {
    if (event.key !== "theme") return;
    apply(event.newValue);
    show();
  });
  document.addEventListener("change", (event) => {
    if (event.target?.id !== "theme") return;
    apply(event.target.value);
    try {
      localStorage.setItem("theme", event.target.value);
    } catch {
      /* the choice lasts as long as the page where storage is refused */
    }
  });
})();
