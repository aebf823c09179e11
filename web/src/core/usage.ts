// What was allocated, used and idle over a time: the times to choose from, the order of rows, sums of days. Pure.
import type { Usage, UsageItem } from "../data/types";
import { type Maybe, ratioPercent } from "./units";

// What a console of one machine sums by; a cluster's sums by more.
export const kLocalKeys: readonly string[] = ["share", "device", "model"];
export const kClusterKeys: readonly string[] = ["team", "namespace", "queue", "owner", "model", "device", "share"];

const kHourMs = 3_600_000;
const kDayMs = 24 * kHourMs;
const kDays: Record<string, number> = { "1d": 1, "7d": 7, "30d": 30 };
export const kSpans: readonly string[] = [...Object.keys(kDays), "month", "last-month"];

export interface Span {
  from: number; // ms since 1970
  to: number;
}

// The instants of a named time. Days end with the running hour, so that they are whole hours; months are of UTC, as the
// days of the API are. An unknown name is the last 24 hours.
export function usageSpan(name: string, nowMs: number): Span {
  const now = new Date(nowMs);
  const month = (back: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1);
  if (name === "month") return { from: month(0), to: Math.max(nowMs, month(0) + 1) };
  if (name === "last-month") return { from: month(1), to: month(0) };
  const hour = Math.floor(nowMs / kHourMs) * kHourMs;
  return { from: hour + kHourMs - (kDays[name] ?? 1) * kDayMs, to: nowMs };
}

export interface UsageRow extends UsageItem {
  id: string;
  used_percent: number | null; // of what was allocated
}

// The rows whose name or key has all words, by `sort`: "field" or "-field". What is not known comes last; without a
// sort the order stays.
export function usageRows(items: readonly UsageItem[], sort: string, words: readonly string[]): UsageRow[] {
  const wanted = words.map((word) => word.toLowerCase());
  const rows = items.map((item): UsageRow => ({
    ...item, id: item.key, name: item.name || item.key, used_percent: ratioPercent(item.device_hours, item.allocated_device_hours),
  })).filter((row) => wanted.every((word) => `${row.name} ${row.key}`.toLowerCase().includes(word)));
  return sortedRows(rows, sort);
}

// Sorts the rows by "field" or "-field", which is a text or a number of them. What is not known comes last.
export function sortedRows<T>(rows: T[], sort: string): T[] {
  const field = sort.replace(/^-/, "") as keyof T;
  const sign = sort === field ? 1 : -1;
  return field ? rows.sort((a, b) => compare(a[field] as Maybe<string | number>, b[field] as Maybe<string | number>, sign)) : rows;
}

function compare(a: Maybe<string | number>, b: Maybe<string | number>, sign: number): number {
  if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1;
  return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
}

export interface BarPart {
  key: "used" | "idle" | "allocated";
  percent: number; // of the bar's length
}

// The bar of an amount: used, idle, and what was allocated and of which neither is known. `scale` is what its length
// stands for.
export function usageBar({ allocated_device_hours: allocated, device_hours: used, idle_device_hours: idle }: Usage, scale: number): BarPart[] {
  let left = Math.min(allocated, scale);
  const part = (key: BarPart["key"], hours: number): BarPart => {
    const taken = Math.min(hours, left);
    left -= taken;
    return { key, percent: ratioPercent(taken, scale) ?? 0 };
  };
  return [part("used", used ?? 0), part("idle", idle ?? 0), part("allocated", left)].filter(({ percent }) => percent > 0.01);
}

export interface DaySum {
  start: number; // ms since 1970
  sum: Usage | null;
}

// A sum for each UTC day of the span; null for a day without rows. A day's use is known where all of its rows know theirs.
export function daySums(items: readonly UsageItem[], { from, to }: Span): DaySum[] {
  const days: DaySum[] = [];
  for (let start = Math.floor(from / kDayMs) * kDayMs; start < to; start += kDayMs) {
    const rows = items.filter((item) => item.start_ms === start);
    const add = (field: keyof Usage): number | null =>
      rows.reduce((sum: number | null, row) => (sum === null || row[field] == null ? null : sum + (row[field] ?? 0)), 0);
    days.push({
      start,
      sum: rows.length ? { allocated_device_hours: add("allocated_device_hours") ?? 0, device_hours: add("device_hours"), idle_device_hours: add("idle_device_hours") } : null,
    });
  }
  return days;
}
