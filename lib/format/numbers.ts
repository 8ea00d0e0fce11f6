/** Stands for a value that the source does not state. */
export const missingValue = "\u2014";
const narrowSpace = "\u202f";

/** A number with a fixed count of decimals, thousands apart by a narrow space; an em dash for what is missing. */
export function formatNumber(value: number | null | undefined, decimals = 0): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return missingValue;
  const [whole = "0", fraction] = Math.abs(value).toFixed(decimals).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, narrowSpace) : whole;
  const negative = value < 0 && Number(`${whole}.${fraction ?? 0}`) !== 0;
  return `${negative ? "\u2212" : ""}${grouped}${fraction ? `.${fraction}` : ""}`;
}

/** Per cent with one decimal and no sign of its own: `38.9`. */
export function formatPct(pct: number | null | undefined): string {
  return formatNumber(pct, 1);
}

/** `38.9 %`, the unit bound by a narrow no-break space. */
export function formatPctUnit(pct: number | null | undefined): string {
  const text = formatPct(pct);
  return text === missingValue ? text : `${text}${narrowSpace}%`;
}

/** `24.8 to 55.1 %`, from per cent. */
export function formatInterval(interval: readonly [number, number]): string {
  return `${formatPct(interval[0])} to ${formatPctUnit(interval[1])}`;
}

/** `3` for a single rank, `1\u20136` for a set. */
export function formatRankSet(rankSet: readonly [number, number] | null): string {
  if (!rankSet) return missingValue;
  return rankSet[0] === rankSet[1] ? `${rankSet[0]}` : `${rankSet[0]}\u2013${rankSet[1]}`;
}

/** Dollars with cents. */
export function formatUsd(value: number | null | undefined): string {
  return formatNumber(value, 2);
}

/** p-values as journals print them: three decimals, `< 0.001` below. */
export function formatP(p: number | null | undefined): string {
  if (p === null || p === undefined) return missingValue;
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

const byteUnits = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Bytes in binary units: `17 B`, `1.4 KiB`. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return missingValue;
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < byteUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${formatNumber(value, unit === 0 ? 0 : 1)}${narrowSpace}${byteUnits[unit]}`;
}

/** A measured value: enough digits to compare, no more. */
export function formatMeasure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return missingValue;
  if (Number.isInteger(value)) return formatNumber(value);
  const magnitude = Math.abs(value);
  return formatNumber(value, magnitude >= 100 ? 1 : magnitude >= 1 ? 2 : 4);
}

const words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/** Small counts as words for running text, figures from thirteen on. */
export function countWord(count: number): string {
  return words[count] ?? formatNumber(count);
}

/** First letter in upper case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `1 task`, `3 tasks`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}
