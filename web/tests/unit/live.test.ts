import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryBar } from "../../src/core/bar_parts";
import { applyDelta, parseStreamEvent } from "../../src/core/delta";
import { visibleText } from "../../src/core/names";
import { preferredLanguage } from "../../src/core/i18n";
import { kWantLifeMs, TabWants } from "../../src/core/tabs";
import { kMaxRowsInDocument, kRowHeight, scrollToRow, visibleRows } from "../../src/core/virtual_rows";

const rows = [{ id: "a", used: 1, note: "n" }, { id: "b", used: 2, note: "" }];

test("applyDelta.Put_MergesInPlace", () => {
  const result = applyDelta(rows, { topic: "shares", put: [{ id: "b", used: 9 }, { id: "c", used: 3 }] });
  assert.deepEqual(result.rows, [rows[0], { id: "b", used: 9, note: "" }]);
  assert.equal(result.unknown, 1);
  assert.equal(result.changed, true);
  assert.equal(result.rows[0], rows[0]); // rows that did not change keep their identity
});

test("applyDelta.Drop_RemovesOnlyKnown", () => {
  const result = applyDelta(rows, { topic: "shares", drop: ["a", "zz"] });
  assert.deepEqual(result.rows.map((row) => row.id), ["b"]);
  assert.equal(result.dropped, 1);
});

test("applyDelta.Malformed_IsIgnored", () => {
  const result = applyDelta(rows, { topic: "shares", put: [null, 3, "x", {}] });
  assert.equal(result.changed, false);
  assert.equal(result.unknown, 0);
});

test("parseStreamEvent.Events_AreTyped", () => {
  assert.deepEqual(parseStreamEvent("resync", '{"topic":"devices"}'), { kind: "resync", topic: "devices" });
  assert.deepEqual(parseStreamEvent("end", '{"reason":"expired"}'), { kind: "end", reason: "expired" });
  assert.equal(parseStreamEvent("delta", '{"topic":"shares","put":[]}')?.kind, "delta");
  assert.equal(parseStreamEvent("delta", "{"), null);
  assert.equal(parseStreamEvent("delta", "[]"), null);
  assert.equal(parseStreamEvent("newer", '{"topic":"shares"}'), null);
});

test("TabWants.Tabs_AreJoined", () => {
  const wants = new TabWants();
  wants.set("one", ["shares", "events"], 0);
  wants.set("two", ["devices", "events"], 0);
  assert.deepEqual(wants.topics(0), ["devices", "events", "shares"]);
  wants.remove("two");
  assert.deepEqual(wants.topics(0), ["events", "shares"]);
});

test("TabWants.SilentTab_IsForgotten", () => {
  const wants = new TabWants();
  wants.set("one", ["shares"], 0);
  wants.set("two", ["devices"], kWantLifeMs);
  assert.deepEqual(wants.topics(kWantLifeMs + 1), ["devices"]);
});

test("visibleRows.AnyScroll_StaysInBounds", () => {
  for (const total of [0, 1, 59, 10_000]) {
    for (const height of [0, 300, 1664, 5000]) {
      for (const top of [-50, 0, 15.5, 9999, 1e7]) {
        const { first, end } = visibleRows(top, height, total);
        assert.ok(first >= 0 && end <= total && first <= end && end - first <= kMaxRowsInDocument, `${total} ${height} ${top}`);
      }
    }
  }
});

test("visibleRows.Viewport_IsCovered", () => {
  const { first, end } = visibleRows(1000 * kRowHeight + 7, 900, 10_000);
  assert.ok(first <= 1000 && end >= 1000 + Math.ceil(900 / kRowHeight) + 1);
});

test("scrollToRow.SeenRow_DoesNotScroll", () => {
  assert.equal(scrollToRow(5, 0, 320), 0);
  assert.equal(scrollToRow(20, 0, 320), 21 * kRowHeight - 320);
  assert.equal(scrollToRow(2, 640, 320), 2 * kRowHeight);
});

test("memoryBar.Overcommit_ShowsPhysicalEnd", () => {
  const bar = memoryBar({
    id: "d", node: "n", index: 0, state: "healthy", memory_total_bytes: 100, memory_used_bytes: 90,
    parts: [
      { share: "a", name: "a", limit_bytes: 100, used_bytes: 60, resident_bytes: 50, swapped_bytes: 10 },
      { share: "b", name: "b", limit_bytes: 90, used_bytes: null, resident_bytes: 30 },
    ],
  });
  assert.equal(bar.scaleBytes, 200); // limits 190, and 10 that no share uses
  assert.equal(bar.physical, 500);
  assert.equal(bar.parts[1]?.start, 500);
  assert.deepEqual([bar.parts[0]?.used, bar.parts[0]?.swapped, bar.other], [250, 50, 50]);
});

test("memoryBar.NothingKnown_IsEmpty", () => {
  const bar = memoryBar({ id: "d", node: "n", index: 0, state: "healthy" });
  assert.deepEqual([bar.parts, bar.other, bar.physical], [[], 0, 0]);
});

test("preferredLanguage.Stored_WinsOverBrowser", () => {
  assert.equal(preferredLanguage("zh", ["en"]), "zh");
  assert.equal(preferredLanguage(null, ["fr", "zh-TW", "en"]), "zh");
  assert.equal(preferredLanguage("xx", ["de"]), "en");
});

test("visibleText.HiddenCharacters_AreShown", () => {
  assert.equal(visibleText("\u202Egnp.exe"), "‹202E›gnp.exe");
  assert.equal(visibleText("line\nbreak\ttab"), "line break tab");
  assert.equal(visibleText("مرحبا <b>"), "مرحبا <b>");
});
