// Time ranges of charts and events. A range is either of fixed length up to now, or two fixed instants.

export type TimeRange = { kind: "last"; ms: number } | { kind: "fixed"; from: number; to: number };

export const kRanges = [
  { name: "15m", ms: 15 * 60_000 },
  { name: "1h", ms: 3_600_000 },
  { name: "6h", ms: 6 * 3_600_000 },
  { name: "1d", ms: 24 * 3_600_000 },
  { name: "7d", ms: 7 * 24 * 3_600_000 },
  { name: "14d", ms: 14 * 24 * 3_600_000 },
] as const;

const kMinZoomMs = 10_000;

export function parseTimeRange(params: URLSearchParams): TimeRange {
  const from = Number(params.get("from") ?? Number.NaN);
  const to = Number(params.get("to") ?? Number.NaN);
  if (Number.isFinite(from) && Number.isFinite(to) && to > from && from > 0) return { kind: "fixed", from, to };
  const named = kRanges.find((range) => range.name === params.get("range"));
  return { kind: "last", ms: named?.ms ?? kRanges[1].ms };
}

// Writes the range into the page's parameters.
export function setTimeRange(params: URLSearchParams, range: TimeRange): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const key of ["from", "to", "range"]) next.delete(key);
  if (range.kind === "fixed") {
    next.set("from", String(Math.round(range.from)));
    next.set("to", String(Math.round(range.to)));
  } else {
    const name = kRanges.find((each) => each.ms === range.ms)?.name;
    if (name && name !== kRanges[1].name) next.set("range", name);
  }
  return next;
}

export function instantsOf(range: TimeRange, nowMs: number): { from: number; to: number } {
  return range.kind === "fixed" ? { from: range.from, to: range.to } : { from: nowMs - range.ms, to: nowMs };
}

// The range that a drag selected, or null where it is too short to mean anything.
export function zoomRange(a: number, b: number): TimeRange | null {
  const from = Math.min(a, b);
  const to = Math.max(a, b);
  return to - from < kMinZoomMs ? null : { kind: "fixed", from, to };
}
