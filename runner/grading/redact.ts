import { homedir, hostname } from "node:os";
import { redactTokens } from "@/lib/trajectory/redact";
import { environment } from "../environment";

/** Variables whose values say nothing about a secret, and may well stand in output. */
const harmless =
  /^(?:PATH|HOME|PWD|OLDPWD|LANG|LC_.*|TERM|SHELL|USER|LOGNAME|TZ|EDITOR|PAGER|SHLVL|_|DISPLAY|COLORTERM|NODE_ENV|CI|HOSTNAME|XDG_.*|npm_.*|NODE|INIT_CWD|COLOR|VITEST.*|PYTHON.*|VIRTUAL_ENV|CUDA_VISIBLE_DEVICES|INFRADEV_PYTHON)$/;
const shortestSecret = 8;

export type Redactor = (text: string) => string;

/** Keys under which a document holds text that somebody wrote; ids, enums, digests and names stand under others. */
const textKeys = new Set([
  "message",
  "evidence",
  "excerpt",
  "file",
  "function",
  "argv",
  "env",
  "path",
  "what",
  "extra",
]);
/** What the contract allows at most, since a mark may be longer than what it replaces. */
const longest: Record<string, number | undefined> = { message: 20_000, excerpt: 4000, code: 400 };

/**
 * A document's copy whose free texts were redacted: messages, evidence, frames and command lines. Keys and any other
 * value stay as they are, so that no secret, whatever it equals, changes what a document says.
 */
export function redactTexts<T>(document: T, redact: Redactor): T {
  const copy = (value: unknown, key: string): unknown => {
    if (typeof value === "string") return textKeys.has(key) ? clipped(redact(value), longest[key]) : value;
    if (Array.isArray(value)) return value.map((entry) => copy(entry, key));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => {
        // A frame's line of code, unlike the code that names a reason or a finding.
        if (name === "code" && "line" in value && typeof entry === "string") {
          return [name, clipped(redact(entry), longest.code)];
        }
        return [name, copy(entry, key === "env" ? key : name)];
      }),
    );
  };
  return copy(document, "") as T;
}

const clipped = (text: string, limit: number | undefined): string =>
  limit === undefined ? text : text.slice(0, limit);

/**
 * Makes the function that every free text of a bundle passes before it is signed: paths of the working folders become
 * their names in the sandbox, and values of environment variables that are not known to be harmless, tokens by
 * pattern, the home folder and the host's name are removed.
 * @param folders host folder to the name that stands for it
 */
export function createRedactor(
  folders: ReadonlyMap<string, string>,
  env: NodeJS.ProcessEnv = environment.variables,
): Redactor {
  const replaced: [string, string][] = [...folders].sort(([a], [b]) => b.length - a.length);
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value.length < shortestSecret || harmless.test(name)) continue;
    if (/^\d+$/.test(value) || value.startsWith("/")) continue;
    replaced.push([value, `[redacted: ${name}]`]);
  }
  const home = env.HOME ?? homedir();
  if (home.length > 1) replaced.push([`${home}/`, "~/"]);
  const host = hostname();
  const hostPattern =
    host.length >= 4 && host !== "localhost" ? new RegExp(`\\b${host.replace(/[^A-Za-z0-9]/g, "\\$&")}\\b`, "g") : null;
  return (text) => {
    let result = text;
    for (const [from, to] of replaced) if (result.includes(from)) result = result.replaceAll(from, () => to);
    result = redactTokens(result);
    return hostPattern === null ? result : result.replace(hostPattern, "[host]");
  };
}
