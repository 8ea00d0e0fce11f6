import fileSystemCache from "next/dist/server/lib/incremental-cache/file-system-cache.js";
import { scriptPolicyOf } from "./inline-scripts.mjs";

const FileSystemCache = fileSystemCache.default ?? fileSystemCache;
const header = "content-security-policy";

/** Gives a prerendered page the policy that names its inline scripts, once: the value stays in the cache. */
function withPolicy(value) {
  if (value?.kind !== "APP_PAGE" || value.postponed || typeof value.html !== "string" || value.headers?.[header])
    return;
  const policy = scriptPolicyOf(value.html);
  if (policy) value.headers = { ...value.headers, [header]: policy };
}

/** Next's own page cache, with a strict Content-Security-Policy beside each page that is whole. */
export default class PageCache extends FileSystemCache {
  async get(...args) {
    const found = await super.get(...args);
    withPolicy(found?.value);
    return found;
  }

  async set(...args) {
    withPolicy(args[1]);
    return super.set(...args);
  }
}
