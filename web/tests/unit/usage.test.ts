import assert from "node:assert/strict";
import { test } from "node:test";
import { placeOf } from "../../src/core/paths";
import { hiddenSource } from "../../src/core/scope";
import { formatDay, formatHours, formatMoney } from "../../src/core/units";
import { daySums, kClusterKeys, kLocalKeys, kSpans, usageBar, usageRows, usageSpan } from "../../src/core/usage";
import type { UsageItem } from "../../src/data/types";

const kHour = 3_600_000;
const kNow = Date.UTC(2026, 2, 15, 10, 20); // 15 March
const at = (...parts: [number, number, number, number?]): number => Date.UTC(...parts);

const item = (key: string, allocated: number, used: number | null, more: Partial<UsageItem> = {}): UsageItem => ({
  key, name: "", allocated_device_hours: allocated, device_hours: used, idle_device_hours: used === null ? null : allocated - used,
  memory_byte_hours: 0, ...more,
});

test("usageSpan.Days_AreWholeHoursWithTheRunningOne", () => {
  for (const [name, days] of [["1d", 1], ["7d", 7], ["30d", 30]] as const) {
    const { from, to } = usageSpan(name, kNow);
    assert.equal(to, kNow);
    assert.equal(Math.ceil((to - from) / kHour), days * 24, name);
    assert.equal(from % kHour, 0);
  }
  assert.deepEqual(usageSpan("nonsense", kNow), usageSpan("1d", kNow));
});

test("usageSpan.Months_AreOfUtc", () => {
  assert.deepEqual(usageSpan("month", kNow), { from: at(2026, 2, 1), to: kNow });
  assert.deepEqual(usageSpan("last-month", kNow), { from: at(2026, 1, 1), to: at(2026, 2, 1) });
  const january = at(2027, 0, 1, 0);
  assert.deepEqual(usageSpan("last-month", january), { from: at(2026, 11, 1), to: january });
  assert.deepEqual(usageSpan("month", january), { from: january, to: january + 1 });
  assert.equal(kSpans.length, 5);
});

test("usageRows.Sort_PutsUnknownLast", () => {
  const items = [item("b", 3, null), item("a", 2, 1), item("c", 1, 0.9)];
  const keys = (sort: string): string => usageRows(items, sort, []).map(({ id }) => id).join("");
  assert.equal(keys(""), "bac");
  assert.equal(keys("name"), "abc");
  assert.equal(keys("-name"), "cba");
  assert.equal(keys("device_hours"), "cab");
  assert.equal(keys("-device_hours"), "acb");
  assert.equal(keys("-used_percent"), "cab");
  assert.equal(keys("allocated_device_hours"), "cab");
  assert.deepEqual(items.map(({ key }) => key), ["b", "a", "c"]);
});

test("usageRows.Filter_NeedsAllWords", () => {
  const items = [item("t-1", 1, 1, { name: "Train llama" }), item("t-2", 1, 0), item("", 1, null)];
  const keys = (...words: string[]): string[] => usageRows(items, "", words).map(({ id }) => id);
  assert.deepEqual(keys("LLAMA", "train"), ["t-1"]);
  assert.deepEqual(keys("t-2"), ["t-2"]);
  assert.deepEqual(keys("llama", "t-2"), []);
  assert.deepEqual(usageRows(items, "", []).map(({ name }) => name), ["Train llama", "t-2", ""]);
  assert.deepEqual(usageRows(items, "", []).map(({ used_percent }) => used_percent), [100, 0, null]);
});

test("usageBar.Parts_EndWithAllocated", () => {
  const bar = (allocated: number, used: number | null, idle: number | null, scale: number): string =>
    usageBar({ allocated_device_hours: allocated, device_hours: used, idle_device_hours: idle }, scale)
      .map(({ key, percent }) => `${key} ${percent}`).join(", ");
  assert.equal(bar(12, 3, 9, 48), "used 6.25, idle 18.75");
  assert.equal(bar(12, null, null, 48), "allocated 25");
  assert.equal(bar(12, 3, 3, 12), "used 25, idle 25, allocated 50");
  assert.equal(bar(12, 15, 0, 24), "used 50");
  assert.equal(bar(60, 30, 30, 40), "used 75, idle 25");
  assert.equal(bar(0, 0, 0, 0), "");
});

test("daySums.Days_AreAddedAndGapsUnknown", () => {
  const day = at(2026, 2, 13);
  const next = day + 24 * kHour;
  const items = [
    item("a", 3, 1, { start_ms: day }), item("b", 1, 1, { start_ms: day }), item("a", 2, 1, { start_ms: next + 24 * kHour }),
    item("b", 2, null, { start_ms: next + 24 * kHour }),
  ];
  assert.deepEqual(daySums(items, { from: day + 5 * kHour, to: next + 25 * kHour }), [
    { start: day, sum: { allocated_device_hours: 4, device_hours: 2, idle_device_hours: 2 } },
    { start: next, sum: null },
    { start: next + 24 * kHour, sum: { allocated_device_hours: 4, device_hours: null, idle_device_hours: null } },
  ]);
});

test("formatHours.Small_IsNotZero", () => {
  assert.equal(formatHours(0), "0.0 h");
  assert.equal(formatHours(0.01), "<0.1 h");
  assert.equal(formatHours(12.34), "12.3 h");
  assert.equal(formatHours(1234.5), "1,235 h");
});

test("formatMoney.AnyCurrency_FollowsTheAmount", () => {
  assert.equal(formatMoney(36_250_000, "EUR"), "36.25 EUR");
  assert.equal(formatMoney(0, "credits"), "0.00 credits");
  assert.equal(formatMoney(12_345_678_000, "EUR"), "12,346 EUR");
});

test("formatDay.Day_IsOfUtc", () => {
  assert.match(formatDay(at(2026, 2, 13)), /13/);
});

test("usage.Place_IsAPageOfBothModes", () => {
  assert.deepEqual(placeOf("/gpu/usage", "/gpu/"), { page: "usage", id: "" });
  assert.deepEqual(kLocalKeys.filter((key) => !kClusterKeys.includes(key)), []);
  const scope = { everything: false, nodes: true, queues: true, pods: ["a"], events: null };
  assert.equal(hiddenSource("usage", scope), "pods");
});
