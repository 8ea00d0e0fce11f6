export function fileKeeper(
  limit?: number,
): (key: string, value: { kind?: string; status?: number | undefined } | null) => boolean;
