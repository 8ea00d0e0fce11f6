import { z } from "zod";

/** Lowercase hex sha256. */
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, "expected 64 lowercase hex digits (sha256)");
/** Lowercase hex git object id (sha1). */
export const gitOidSchema = z.string().regex(/^[0-9a-f]{40}$/, "expected 40 lowercase hex digits (git object id)");
export const slugSchema = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+(?:[.-][a-z0-9]+)*$/, "expected lowercase letters and digits joined by '-' or '.'");
/** Suite versions are semver, the patch number may be left out. */
export const suiteVersionSchema = z.string().regex(/^\d+\.\d+(\.\d+)?$/, "expected a version such as 1.0 or 1.0.2");
export const uuidSchema = z.uuid();
/** RFC 3339 in UTC, ending in Z. */
export const instantSchema = z.iso.datetime({ offset: false });
/** A name that a person reads: no control characters, bidirectional overrides or line breaks. */
export const displayNameSchema = z
  .string()
  .min(1)
  .max(120)
  .regex(/^[^\p{Cc}\u202a-\u202e\u2066-\u2069]+$/u, "control characters are not allowed");
/** Text of at most `length` characters under the rule of names; it may be empty. */
export const printableSchema = (length: number) =>
  z
    .string()
    .max(length)
    .regex(/^[^\p{Cc}\u202a-\u202e\u2066-\u2069]*$/u, "control characters are not allowed");
/** A whole number in a query, a path or a header: decimal digits, not less than `least` and not more than `most`. */
export const wholeNumberSchema = (least: number, most: number) => {
  const expected = `expected a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d+$/, { error: expected, abort: true })
    .refine((digits) => Number(digits) >= least && Number(digits) <= most, expected);
};
/** Largest offset in a file or in the log. */
export const mostOffset = 10 ** 15 - 1;
/** Largest count that is kept. */
export const int32Max = 2 ** 31 - 1;
/** A path inside a payload or repository: relative, forward slashes, no '.', '..', empty or control parts. */
export const relativePathSchema = z
  .string()
  .max(512)
  .refine(
    (path) =>
      !/[\p{Cc}\\]/u.test(path) &&
      !path.startsWith("/") &&
      path.split("/").every((part) => part !== "" && part !== "." && part !== ".."),
    "expected a relative path without '.', '..', empty parts, backslashes or control characters",
  );
/** Base64 (standard alphabet, padded). */
export const base64Schema = z
  .string()
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, "expected padded base64");
