import { createHash } from "node:crypto";

/**
 * The inline scripts that Next writes into a prerendered page, each by its whole form: they push JSON into a queue and
 * can run nothing of their own. Whatever has another form gets no hash, so a browser refuses it.
 */
const known = [
  (text) => text === "(self.__next_f=self.__next_f||[]).push([0])",
  (text) => isPush(text, "self.__next_f.push("),
  (text) => isPush(text, '(globalThis["TURBOPACK"] || (globalThis["TURBOPACK"] = [])).push('),
];

/**
 * Whether an inline script is one of the framework's: data for its scripts and nothing that runs.
 *
 * @param {string} text
 * @returns {boolean}
 */
export const isFrameworkScript = (text) => known.some((matches) => matches(text));

/** More hashes than this would make a header that proxies refuse. */
const maxHashes = 120;

function isPush(text, opening) {
  const argument = text.slice(opening.length).replace(/\);?$/, "");
  if (!text.startsWith(opening) || argument.length + opening.length === text.length) return false;
  try {
    JSON.parse(argument);
    return true;
  } catch {
    return false;
  }
}

/**
 * The same page with neighbouring pushes of text joined into one: Next writes one script for every piece of its stream,
 * a long table has more than a header can name, and the page's reader joins the texts anyway. Inside a push every `<` is
 * escaped, and outside of scripts every quote is.
 *
 * @param {string} html
 * @returns {string}
 */
export function joinPushes(html) {
  return html.replaceAll('"])</script><script>self.__next_f.push([1,"', "");
}

/**
 * A Content-Security-Policy under which a page runs this origin's script files and its own inline scripts and no other.
 * Null where the page cannot have one: it is not whole yet, or has too many inline scripts.
 *
 * @param {string} html
 * @returns {string | null}
 */
export function scriptPolicyOf(html) {
  const hashes = new Set();
  for (const [, attributes, text] of html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)) {
    if (/\ssrc=/.test(attributes) || !isFrameworkScript(text)) continue;
    hashes.add(`'sha256-${createHash("sha256").update(text).digest("base64")}'`);
  }
  if (hashes.size === 0 || hashes.size > maxHashes) return null;
  return ["script-src 'self'", ...hashes].join(" ");
}
