// What a delta of the stream does to rows that are already on the page. Pure.

export interface Row {
  id: string;
}

export interface Delta {
  topic: string;
  data_time_ms?: number;
  put?: unknown[];
  drop?: string[];
}

export interface DeltaResult<T> {
  rows: T[];
  dropped: number; // rows that were on the page and are gone
  unknown: number; // rows put that are not on the page
  changed: boolean;
}

export function applyDelta<T extends Row>(rows: readonly T[], delta: Delta): DeltaResult<T> {
  const puts = new Map<string, T>();
  for (const value of delta.put ?? []) {
    if (isRow(value)) puts.set(value.id, value as T);
  }
  const drops = new Set(delta.drop ?? []);
  const next: T[] = [];
  let dropped = 0;
  let changed = false;
  for (const row of rows) {
    if (drops.has(row.id)) {
      dropped += 1;
      continue;
    }
    const put = puts.get(row.id);
    if (put) {
      puts.delete(row.id);
      changed = true;
      next.push({ ...row, ...put });
    } else {
      next.push(row);
    }
  }
  return { rows: next, dropped, unknown: puts.size, changed: changed || dropped > 0 };
}

export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && typeof (value as Row).id === "string";
}

export type StreamMessage =
  | { kind: "delta"; delta: Delta }
  | { kind: "resync"; topic: string }
  | { kind: "end"; reason: string };

// One event of the stream; null if it is not of the contract (a newer server's event is ignored).
export function parseStreamEvent(name: string, data: string): StreamMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const object = value as Record<string, unknown>;
  if (name === "end") return { kind: "end", reason: typeof object.reason === "string" ? object.reason : "" };
  if (typeof object.topic !== "string") return null;
  if (name === "resync") return { kind: "resync", topic: object.topic };
  return name === "delta" ? { kind: "delta", delta: value as Delta } : null;
}
