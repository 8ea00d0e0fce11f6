/** Postgres stores neither U+0000 nor half of a surrogate pair: they are kept visible instead. */
export function storableText<T extends string | null>(text: T): T {
  return (text === null ? null : text.replaceAll(/[\0\p{Surrogate}]/gu, "\ufffd")) as T;
}

/** The value as JSON that a `jsonb` column takes: every string in it as `storableText` has it. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? storableText(part) : part));
}
