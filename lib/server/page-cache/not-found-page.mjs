import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Begins the document that Next sends where a page says "not found": an empty one, which scripts fill. */
const emptyDocument = '<!DOCTYPE html><html id="__next_error__">';

/**
 * The document of a page that is not found, written out: that of an address without any page, which the build has made.
 * Everything else, and everything before there is a build, stays as it is.
 *
 * @param {string} html
 * @param {string} serverDistDir
 * @returns {string}
 */
export function writtenOut(html, serverDistDir) {
  if (!html.startsWith(emptyDocument)) return html;
  try {
    return readFileSync(join(serverDistDir, "app", "_not-found.html"), "utf8");
  } catch {
    return html;
  }
}

const statement = '<meta name="page-status" content="404"/>';

/**
 * Whether a page that was written whole says of itself that what it names is not there: the framework's own "not found"
 * is the same for every address and can name nothing. No text of a page can hold the statement, since its `<` is escaped.
 *
 * @param {string} html
 * @returns {boolean}
 */
export function saysNotFound(html) {
  return html.includes(statement);
}
