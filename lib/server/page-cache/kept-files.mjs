/** Pages kept as files at most by one process; those beyond live in memory alone, where the longest unused go first. */
const maxKeptPages = 4096;

/** Paths that there is no end of: logs, trajectories, searches, and a board's filters and columns, which its path begins with. */
const endless =
  /^\/(?:(?:log(?:s|-view)|trajector(?:ies|y-view)|failure-view|search-results)\/|board\/-(?:model|organization|agent|effort|tier|data|configuration|cols)=)/;

/**
 * Decides which pages are kept as files: never one that says "not found", since an address can be anything, nor one
 * of those that there is no end of, and no more distinct ones than `limit`. A page that is kept already may always be
 * renewed.
 *
 * @param {number} [limit]
 * @returns {(key: string, value: { kind?: string; status?: number } | null) => boolean}
 */
export function fileKeeper(limit = maxKeptPages) {
  const kept = new Set();
  return (key, value) => {
    if (value?.kind !== "APP_PAGE") return true;
    if ((value.status ?? 200) >= 400 || endless.test(key)) return false;
    if (!kept.has(key) && kept.size >= limit) return false;
    kept.add(key);
    return true;
  };
}
