import { formatNumber, missingValue } from "./numbers";

const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

function parse(instant: string | null | undefined): Date | null {
  if (!instant) return null;
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** `28 October 2026`, in UTC, whatever the reader's or the server's zone. */
export function formatDate(instant: string | null | undefined): string {
  const date = parse(instant);
  return date ? `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}` : missingValue;
}

/** `2026-10-28`. */
export function formatDay(instant: string | null | undefined): string {
  return parse(instant)?.toISOString().slice(0, 10) ?? missingValue;
}

/** `2026-10-28 14:03 UTC`. */
export function formatInstant(instant: string | null | undefined): string {
  const iso = parse(instant)?.toISOString();
  return iso ? `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC` : missingValue;
}

/** Milliseconds as a reader would say them: `85 ms`, `4.2 s`, `3 min 07 s`, `2 h 05 min`. */
export function formatDuration(durationMs: number | null | undefined): string {
  if (durationMs === null || durationMs === undefined || !Number.isFinite(durationMs)) return missingValue;
  if (durationMs < 1000) return `${formatNumber(durationMs)}\u202fms`;
  const seconds = durationMs / 1000;
  if (seconds < 59.95) return `${formatNumber(seconds, 1)}\u202fs`;
  const whole = Math.round(seconds);
  const pad = (value: number) => String(value).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}\u202fmin ${pad(whole % 60)}\u202fs`;
  const minutes = Math.round(whole / 60);
  return `${formatNumber(Math.floor(minutes / 60))}\u202fh ${pad(minutes % 60)}\u202fmin`;
}
