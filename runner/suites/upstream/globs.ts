const escaped = (text: string): string => text.replace(/[.+^${}()|[\]\\?]/g, "\\$&");

const regexOf = (glob: string): RegExp => {
  const parts = glob
    .split(/(\*\*\/|\*\*|\*)/)
    .map((part) => ({ "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*" })[part] ?? escaped(part));
  return new RegExp(`^${parts.join("")}$`);
};

/** Whether a path is left out: `*` stands for part of a name, `**` for any number of folders. */
export function matcherOf(globs: readonly string[]): (path: string) => boolean {
  const patterns = globs.map(regexOf);
  return (path) => patterns.some((pattern) => pattern.test(path));
}
