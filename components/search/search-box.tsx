"use client";

import { useEffect, useRef } from "react";
import { isSearchKeyOn } from "./search-key";

const typesText = "input, textarea, select, [contenteditable]";

/** The search of the whole site, a plain form; the key `/` leads to it wherever nothing is being typed. */
export function SearchBox() {
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => {
    function focus(event: KeyboardEvent) {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.target instanceof Element && event.target.closest(typesText)) return;
      if (!isSearchKeyOn()) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    }
    document.addEventListener("keydown", focus);
    return () => document.removeEventListener("keydown", focus);
  }, []);

  return (
    <search className="site-search">
      <form action="/search">
        <label className="sr-only" htmlFor="site-search">
          Search tasks, entries, tests and documents
        </label>
        <input
          ref={field}
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
