/** Turns the key that leads to the search on or off; `public/site.js` keeps it in this browser. */
export function SearchKeyChoice() {
  return (
    <label className="search-key">
      <input id="search-key" type="checkbox" defaultChecked autoComplete="off" /> The key <kbd>/</kbd> leads to the
      search from every page
    </label>
  );
}
