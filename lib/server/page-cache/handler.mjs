import fileSystemCache from "next/dist/server/lib/incremental-cache/file-system-cache.js";
import { inertComponents, withoutFramework, withScriptsLater } from "./framework-scripts.mjs";
import { joinPushes, scriptPolicyOf } from "./inline-scripts.mjs";
import { fileKeeper } from "./kept-files.mjs";
import { saysNotFound, writtenOut } from "./not-found-page.mjs";

const FileSystemCache = fileSystemCache.default ?? fileSystemCache;
const header = "content-security-policy";

/** Pages that were prepared, or looked at in vain: hashing one on every request would cost more than sending it. */
const prepared = new WeakSet();

/** One for the process: the framework makes a handler for each request. */
const keepsFile = fileKeeper();

/** Of each build that this process serves: the client components that need no script in the browser. */
const inertOf = new Map();

/**
 * Writes out a page that is not found, sends one that names what is not there as such, takes the framework's scripts off
 * a page that needs none and has them come later on one that does, and gives a prerendered page the policy that names its
 * inline scripts, once: the value stays in the cache.
 */
function prepare(value, serverDistDir) {
  if (value?.kind !== "APP_PAGE" || value.postponed || typeof value.html !== "string" || prepared.has(value)) return;
  prepared.add(value);
  if (saysNotFound(value.html)) value.status = 404;
  const html = value.status === 404 ? writtenOut(value.html, serverDistDir) : value.html;
  if (value.headers?.[header] && html === value.html) return;
  if (!inertOf.has(serverDistDir)) inertOf.set(serverDistDir, inertComponents(serverDistDir));
  const joined = joinPushes(html);
  const plain = withoutFramework(joined, inertOf.get(serverDistDir));
  value.html = plain ?? withScriptsLater(joined);
  const policy = plain === null ? scriptPolicyOf(joined) : "script-src 'self'";
  if (policy) value.headers = { ...value.headers, [header]: policy };
}

/**
 * Next's own page cache, with a strict Content-Security-Policy beside each page that is whole, pages that are not found
 * written out, and a bound on the pages that become files.
 */
export default class PageCache extends FileSystemCache {
  async get(...args) {
    const found = await super.get(...args);
    prepare(found?.value, this.serverDistDir);
    return found;
  }

  async set(...args) {
    prepare(args[1], this.serverDistDir);
    const [key, value] = args;
    const target = keepsFile(key, value) ? this : Object.create(this, { flushToDisk: { value: false } });
    return super.set.apply(target, args);
  }
}
