"use client";

import { useSyncExternalStore } from "react";
import { isSearchKeyOn, keepSearchKey } from "./search-key";

const changed = "search-key-changed";

function subscribe(notify: () => void) {
  for (const event of [changed, "storage"]) window.addEventListener(event, notify);
  return () => {
    for (const event of [changed, "storage"]) window.removeEventListener(event, notify);
  };
}

/** Turns the key that leads to the search on or off; kept in this browser. */
export function SearchKeyChoice() {
  const on = useSyncExternalStore(subscribe, isSearchKeyOn, () => true);
  return (
    <label className="search-key">
      <input
        type="checkbox"
        checked={on}
        onChange={(event) => {
          keepSearchKey(event.target.checked);
          window.dispatchEvent(new Event(changed));
        }}
      />{" "}
      The key <kbd>/</kbd> leads to the search from every page
    </label>
  );
}
