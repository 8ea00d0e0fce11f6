import type FileSystemCache from "next/dist/server/lib/incremental-cache/file-system-cache";

declare const PageCache: typeof FileSystemCache;
export default PageCache;
