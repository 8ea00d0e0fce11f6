import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isFrameworkScript } from "./inline-scripts.mjs";

/**
 * Client components that a browser needs no script for once the page is written: the framework's own boundaries (only
 * its loader of scripts works in the browser alone), the page of a fault, and what only asks for the path.
 */
const inertModules =
  /^\[project\]\/(?:node_modules\/next\/dist\/(?!(?:esm\/)?client\/script\.js)|app\/error\.tsx$|components\/ui\/nav-link\.tsx$)/;

/**
 * Ids, within this build, of the client components that need no script in the browser. Empty where the build's manifests
 * are not there or are of another form: every page then keeps its scripts.
 *
 * @param {string} serverDistDir
 * @returns {Set<string>}
 */
export function inertComponents(serverDistDir) {
  const inert = new Set();
  const working = new Set();
  for (const [path, id] of clientComponents(serverDistDir)) (inertModules.test(path) ? inert : working).add(id);
  return new Set([...inert].filter((id) => !working.has(id)));
}

function clientComponents(serverDistDir) {
  // Without these remarks the build takes every file of the sources for one that is read here.
  const folder = join(/* turbopackIgnore: true */ serverDistDir, "app");
  try {
    return readdirSync(/* turbopackIgnore: true */ folder, { recursive: true })
      .filter((name) => name.endsWith("page_client-reference-manifest.js"))
      .flatMap((name) => {
        const text = readFileSync(/* turbopackIgnore: true */ join(/* turbopackIgnore: true */ folder, name), "utf8");
        const { clientModules } = JSON.parse(text.slice(text.indexOf("] = {") + "] = ".length).replace(/;\s*$/, ""));
        return Object.entries(clientModules).map(([path, { id }]) => [path, String(id)]);
      });
  } catch {
    return [];
  }
}

const scriptFile = /<script\b[^>]*\ssrc="(\/_next\/[^"]*)"[^>]*><\/script>/g;
const scriptPreload = /<link\b(?=[^>]*\bas="script")[^>]*\shref="\/_next\/[^"]*"[^>]*>/g;
const inlineScript = /<script\b(?![^>]*\ssrc=)(?![^>]*\stype="application\/(?:ld\+)?json")[^>]*>([\s\S]*?)<\/script>/g;
/** A row of the page's data that names a client component by its id. */
const reference = /[0-9a-f]:I\[(\d+),/g;
/** What the framework finds its place by; no text of a page holds one, since its `<` is escaped. */
const marker = /<!--[ $&/!?A-Za-z]*-->/g;

/**
 * The page without the framework's scripts, its data and its markers: HTML that is read, with the site's own script
 * files. Null where the page has a client component that works in the browser, or a script of another form.
 *
 * @param {string} html
 * @param {ReadonlySet<string>} inert
 * @returns {string | null}
 */
export function withoutFramework(html, inert) {
  const scripts = [...html.matchAll(inlineScript)].map(([, text]) => text);
  if (!scripts.every(isFrameworkScript)) return null;
  // A row may begin in one push and end in another.
  const data = scripts.map((text) => text.replace(/^self\.__next_f\.push\(\[1,"|"\]\);?$/g, "")).join("");
  const ids = [...data.matchAll(reference)].map(([, id]) => id);
  if (ids.length === 0 || !ids.every((id) => inert.has(id))) return null;
  return html
    .replaceAll(scriptFile, "")
    .replaceAll(scriptPreload, "")
    .replaceAll(inlineScript, "")
    .replaceAll(marker, "");
}

/**
 * The page with the framework's script files written as a list, which `public/later.js` starts once a reader does
 * anything: it is there to be read first. What takes their place is data, which no policy needs to name.
 *
 * @param {string} html
 * @returns {string}
 */
export function withScriptsLater(html) {
  const files = [];
  const without = html.replaceAll(scriptPreload, "").replaceAll(scriptFile, (tag, file) => {
    // Browsers that know modules never load these.
    if (!/\snomodule\b/i.test(tag)) files.push(file.replaceAll("&amp;", "&"));
    return "";
  });
  const list = JSON.stringify([...new Set(files)]).replaceAll("<", "\\u003c");
  return files.length === 0
    ? html
    : without.replace(
        /<\/body>/,
        () =>
          `<script type="application/json" id="later-scripts">${list}</script><script src="/later.js" async=""></script></body>`,
      );
}
