// What a queue has, as bars: guarantee, use, what of it is borrowed, limit. Pure.
import type { Maybe } from "./units";

export interface QueueAmount {
  model: string; // "*": all
  devices_milli?: Maybe<number>; // null states nothing
  memory_bytes?: Maybe<number>;
}

type Part = "guarantee" | "used" | "borrowed" | "limit";
export type QueueAmounts = { [name in Part]?: Maybe<QueueAmount[]> };

export interface QueueBar extends Record<Part, number | null> {
  model: string;
  bytes: boolean; // else thousandths of a device
  scale: number; // what the bar's length stands for
}

// Whether use can be compared with something that the queue states.
export const isMeasured = (guarantee: number | null, limit: number | null): boolean => guarantee !== null || limit !== null;

const kParts: readonly Part[] = ["guarantee", "used", "borrowed", "limit"];

// A bar for each model and measure of which an amount is stated; all models together come first. Without a guarantee
// and a limit nothing is borrowed.
export function queueBars(queue: QueueAmounts): QueueBar[] {
  const models = new Set(kParts.flatMap((part) => (queue[part] ?? []).map((each) => each.model)));
  const bars: QueueBar[] = [];
  for (const model of [...models].sort()) {
    for (const field of ["devices_milli", "memory_bytes"] as const) {
      const of = (part: Part): number | null => queue[part]?.find((each) => each.model === model)?.[field] ?? null;
      const [guarantee = null, used = null, borrowed = null, limit = null] = kParts.map(of);
      if (guarantee === null && used === null && borrowed === null && limit === null) continue;
      const scale = Math.max(limit ?? 0, guarantee ?? 0, used ?? 0, 1);
      bars.push({ model, bytes: field === "memory_bytes", guarantee, used, borrowed: isMeasured(guarantee, limit) ? borrowed : null, limit, scale });
    }
  }
  return bars;
}
