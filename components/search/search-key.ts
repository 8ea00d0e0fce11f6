const name = "search-key";

/** Whether the key `/` leads to the search: a reader may turn it off, where speech or another program types keys. */
export function isSearchKeyOn(): boolean {
  try {
    return localStorage.getItem(name) !== "off";
  } catch {
    // a browser that keeps nothing
    return true;
  }
}

export function keepSearchKey(on: boolean): void {
  try {
    if (on) localStorage.removeItem(name);
    else localStorage.setItem(name, "off");
  } catch {
    // as above: the choice then ends with the page
  }
}
