/** The search of the whole site, a plain form; by `public/site.js` the key `/` leads to it wherever nothing is being typed. */
export function SearchBox() {
  return (
    <search className="site-search">
      <form action="/search">
        <label className="sr-only" htmlFor="site-search">
          Search tasks, entries, tests and documents
        </label>
        <input
          id="site-search"
          type="search"
          name="q"
          maxLength={100}
          placeholder="Search"
          autoComplete="off"
          aria-keyshortcuts="/"
        />
      </form>
    </search>
  );
}
