import PageCache from "./handler.mjs";

/** A page cache that keeps what it is given in memory, over a build folder of which it reads nothing itself. */
export const memoryCache = (serverDistDir: string) =>
  new PageCache({
    fs: { existsSync: () => false, readFile: async () => Promise.reject(new Error("absent")) },
    flushToDisk: false,
    serverDistDir,
    revalidatedTags: [],
    maxMemoryCacheSize: 1_000_000,
  } as never);
