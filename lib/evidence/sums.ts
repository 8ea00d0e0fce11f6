import type { Problem } from "../contract/errors";
import { compareUtf8, decodeUtf8, utf8 } from "./bytes";

export interface FileDigest {
  path: string;
  /** Hex. */
  sha256: string;
}

/** Paths that `sha256sum` would write escaped are not used at all. */
const plainPath = /^[^\p{Cc}\\]+$/u;

/** SHA256SUMS as `sha256sum` writes it: `<hex>  <path>` a line, sorted as LC_ALL=C sorts. */
export function formatSums(files: readonly FileDigest[]): Uint8Array {
  return utf8(
    [...files]
      .sort((a, b) => compareUtf8(a.path, b.path))
      .map(({ path, sha256 }) => `${sha256}  ${path}\n`)
      .join(""),
  );
}

/** Reads SHA256SUMS; anything but the one canonical spelling is a problem that names its line. */
export function parseSums(bytes: Uint8Array): { files: FileDigest[] } | { problem: Problem } {
  const refuse = (where: string, message: string) => ({
    problem: {
      code: "bundle.sums-form",
      message,
      where,
      rule: "each line is 64 lowercase hex digits, two spaces and a path; lines are sorted by bytes and end in a line feed",
      remedy: "write the file with: LC_ALL=C sort -z of the paths, then sha256sum",
    } satisfies Problem,
  });
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch {
    return refuse("SHA256SUMS", "the list of digests is not UTF-8");
  }
  if (text !== "" && !text.endsWith("\n")) return refuse("SHA256SUMS", "the last line has no line feed");
  const files: FileDigest[] = [];
  for (const [index, line] of text.split("\n").slice(0, -1).entries()) {
    const where = `SHA256SUMS:${index + 1}`;
    const match = /^([0-9a-f]{64}) {2}(.+)$/su.exec(line);
    const [, sha256, path] = match ?? [];
    if (!sha256 || !path || !plainPath.test(path)) return refuse(where, "the line does not have sha256sum's form");
    const previous = files.at(-1);
    if (previous && compareUtf8(previous.path, path) >= 0)
      return refuse(where, `'${path}' does not come after '${previous.path}' in byte order`);
    files.push({ path, sha256 });
  }
  return { files };
}
