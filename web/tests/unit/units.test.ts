import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytesOption, formatAgo, formatBytes, formatDuration, formatPercent, parseBytes, ratioPercent,
} from "../../src/core/units";

const kGiB = 1024 ** 3;

test("formatBytes.Sizes_HaveOneUnit", () => {
  assert.equal(formatBytes(0), "0 GiB");
  assert.equal(formatBytes(512), "1 KiB");
  assert.equal(formatBytes(300 * 1024 ** 2), "300 MiB");
  assert.equal(formatBytes(1.25 * kGiB), "1.3 GiB");
  assert.equal(formatBytes(640 * kGiB), "640.0 GiB");
  assert.equal(formatBytes(20 * 1024 * kGiB), "20.0 TiB");
});

test("formatPercent.AlmostZero_IsNotZero", () => {
  assert.equal(formatPercent(0), "0%");
  assert.equal(formatPercent(0.2), "<1%");
  assert.equal(formatPercent(99.6), "100%");
});

test("ratioPercent.Unknown_IsNull", () => {
  assert.equal(ratioPercent(null, 10), null);
  assert.equal(ratioPercent(1, undefined), null);
  assert.equal(ratioPercent(1, 0), null);
  assert.equal(ratioPercent(1, 4), 25);
});

test("formatDuration.Lengths_HaveTwoUnits", () => {
  assert.equal(formatDuration(340), "340 ms");
  assert.equal(formatDuration(3240), "3.2 s");
  assert.equal(formatDuration(45_000), "45 s");
  assert.equal(formatDuration(61_000), "1 min 1 s");
  assert.equal(formatDuration(12 * 60_000 + 5000), "12 min");
  assert.equal(formatDuration(3 * 3_600_000 + 20 * 60_000), "3 h 20 min");
  assert.equal(formatDuration(50 * 3_600_000), "2 d 2 h");
});

test("formatAgo.FutureInstant_IsNow", () => {
  assert.match(formatAgo(2000, 1000), /^0 sec/);
  assert.match(formatAgo(0, 120_000), /2 min/);
});

test("parseBytes.Texts_AreAmountsOrNull", () => {
  assert.equal(parseBytes("16Gi"), 16 * kGiB);
  assert.equal(parseBytes("1.5 GiB"), 1.5 * kGiB);
  assert.equal(parseBytes("500M"), 500e6);
  assert.equal(parseBytes("12"), 12);
  for (const wrong of ["", "Gi", "-1Gi", "1e3", "16Gx", "16 Gi b"]) assert.equal(parseBytes(wrong), null, wrong);
});

test("bytesOption.WholeGiB_StaysGiB", () => {
  assert.equal(bytesOption(8 * kGiB), "8Gi");
  assert.equal(bytesOption(8 * kGiB + 1), "8193Mi");
});
