import assert from "node:assert/strict";
import { test } from "node:test";
import { csvText } from "../../src/core/csv";
import { filterText, filterWords, listParams, nextSort, parseListQuery, sortDirection } from "../../src/core/list_query";
import { placeOf, safeLink } from "../../src/core/paths";
import { applyFix, commandOf, requestFrom, requestParams } from "../../src/core/request_options";
import { instantsOf, kRanges, parseTimeRange, setTimeRange, zoomRange } from "../../src/core/time_range";

test("listQuery.Params_RoundTrip", () => {
  const params = new URLSearchParams("filter=state%3Afaulty&filter=a+b&sort=-memory_used_bytes&from=1000&to=2000");
  const query = parseListQuery(params);
  assert.deepEqual(query, { filters: ["state:faulty", "a b"], sort: "-memory_used_bytes", from: 1000, to: 2000 });
  assert.equal(listParams(query).toString(), params.toString());
});

test("listQuery.Nonsense_IsDropped", () => {
  const query = parseListQuery(new URLSearchParams("sort=a;b&from=x&to=-1&filter="));
  assert.deepEqual(query, { filters: [], sort: "", from: null, to: null });
  assert.equal(parseListQuery(new URLSearchParams(Array.from({ length: 99 }, () => ["filter", "x"]))).filters.length, 20);
});

test("filterWords.QuotedWords_StayTogether", () => {
  assert.deepEqual(filterWords('train name:"two words"  state:ok '), ["train", "name:two words", "state:ok"]);
  assert.equal(filterText(["train", "name:two words"]), 'train "name:two words"');
  assert.deepEqual(filterWords(filterText(["name:two words"])), ["name:two words"]);
  assert.deepEqual(filterWords('"open'), ["open"]);
});

test("nextSort.Clicks_GoRound", () => {
  assert.equal(nextSort("", "used", true), "-used");
  assert.equal(nextSort("-used", "used", true), "used");
  assert.equal(nextSort("used", "used", true), "");
  assert.equal(nextSort("-used", "name", false), "name");
  assert.equal(sortDirection("-used", "used"), "descending");
  assert.equal(sortDirection("used", "name"), "none");
});

test("placeOf.Paths_AreRelativeToBase", () => {
  assert.deepEqual(placeOf("/", "/"), { page: "overview", id: "" });
  assert.deepEqual(placeOf("/gpu", "/gpu/"), { page: "overview", id: "" });
  assert.deepEqual(placeOf("/gpu/devices/GPU-1", "/gpu/"), { page: "device", id: "GPU-1" });
  assert.deepEqual(placeOf("/shares/a%2Fb", "/"), { page: "share", id: "a/b" });
  assert.deepEqual(placeOf("/shares/%E0%A4%A", "/"), { page: "share", id: "%E0%A4%A" });
  assert.deepEqual(placeOf("/nope", "/"), { page: "unknown", id: "" });
  assert.deepEqual(placeOf("/waiting/x", "/"), { page: "unknown", id: "" });
  assert.deepEqual(placeOf("/other/devices", "/gpu/"), { page: "unknown", id: "" });
});

test("safeLink.OtherSites_AreRefused", () => {
  assert.equal(safeLink("devices/GPU-1"), "devices/GPU-1");
  for (const wrong of ["javascript:alert(1)", "//evil", "/x", "https://evil", "devices/../../x", "a\\b", "data:x", null, ""]) {
    assert.equal(safeLink(wrong), null, String(wrong));
  }
});

test("request.Fix_ChangesIt", () => {
  assert.deepEqual(applyFix({ memory: "16Gi", gpus: 2 }, "--memory 12Gi --gpus 1"), { memory: "12Gi", gpus: 1 });
  assert.deepEqual(applyFix({}, "--cores=30"), { cores: 30 });
  assert.equal(applyFix({}, "--unknown 1"), null);
  assert.equal(applyFix({}, "wait"), null);
});

test("request.Params_RoundTrip", () => {
  const request = { memory: "16Gi", priority: "high", model: "H100", cores: 30, gpus: 2 };
  assert.deepEqual(requestFrom(requestParams(request)), request);
  assert.deepEqual(requestFrom(new URLSearchParams("cores=x&gpus=-1")), {});
});

test("commandOf.Words_AreQuoted", () => {
  assert.equal(commandOf({ memory: "16Gi", gpus: 1, priority: "normal" }), "divvy run --memory 16Gi -- COMMAND");
  assert.equal(commandOf({ model: "it's $x" }), "divvy run --model 'it'\\''s $x' -- COMMAND");
});

test("timeRange.Params_RoundTrip", () => {
  const fixed = { kind: "fixed", from: 1000, to: 99_000 } as const;
  assert.deepEqual(parseTimeRange(setTimeRange(new URLSearchParams("sort=x"), fixed)), fixed);
  const last = { kind: "last", ms: kRanges[4].ms } as const;
  assert.deepEqual(parseTimeRange(setTimeRange(new URLSearchParams(), last)), last);
  assert.deepEqual(parseTimeRange(new URLSearchParams("from=5&to=1")), { kind: "last", ms: 3_600_000 });
  assert.deepEqual(instantsOf(last, last.ms + 5), { from: 5, to: last.ms + 5 });
});

test("zoomRange.ShortDrag_IsIgnored", () => {
  assert.equal(zoomRange(1000, 2000), null);
  assert.deepEqual(zoomRange(90_000, 10_000), { kind: "fixed", from: 10_000, to: 90_000 });
});

test("csvText.Formulas_AreDefused", () => {
  assert.equal(csvText([["a,b", 'x"y', null, 3, "=1+1"]]), "\"a,b\",\"x\"\"y\",,3,'=1+1\r\n");
});
