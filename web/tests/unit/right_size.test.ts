import assert from "node:assert/strict";
import { test } from "node:test";
import { placeOf } from "../../src/core/paths";
import { changeOf, isIdle, kAdviceWord, kDays, kIdleWord, rightSizeRows } from "../../src/core/right_size";
import { hiddenSource } from "../../src/core/scope";
import type { RightSizeItem } from "../../src/data/types";

const kGiB = 1024 ** 3;

const item = (key: string, more: Partial<RightSizeItem> = {}): RightSizeItem => ({
  key, namespace: "", owner: "", container: "", team: "", queue: "", shares: 1, seen_hours: 100, seen_days: 5, limit_bytes: 16 * kGiB,
  peak_bytes: kGiB, state: "fits", ...more,
});
const keys = (rows: RightSizeItem[]): string[] => rows.map(({ key }) => key);

test("rightSizeRows.Words_NamesTeamsAndQueues", () => {
  const items = [item("a/Deployment/web/main", { team: "Vision" }), item("b/Job/train/main", { queue: "nlp" })];
  assert.deepEqual(keys(rightSizeRows(items, "", ["WEB"])), ["a/Deployment/web/main"]);
  assert.deepEqual(keys(rightSizeRows(items, "", ["vision", "main"])), ["a/Deployment/web/main"]);
  assert.deepEqual(keys(rightSizeRows(items, "", ["nlp"])), ["b/Job/train/main"]);
  assert.deepEqual(keys(rightSizeRows(items, "", ["nlp", "web"])), []);
});

test("rightSizeRows.IdleAndAdvice_AreWordsOfTheirOwn", () => {
  const items = [
    item("long", { idle_ms: 3_600_001 }), item("hour", { idle_ms: 3_600_000 }), item("unknown", { idle_ms: null }),
    item("smaller", { advised_bytes: kGiB, idle_ms: 7_200_000 }), item("slower", { advised_cores: 5 }),
  ];
  assert.deepEqual(keys(rightSizeRows(items, "", [kIdleWord])), ["long", "smaller"]);
  assert.deepEqual(keys(rightSizeRows(items, "", [kAdviceWord])), ["smaller", "slower"]);
  assert.deepEqual(keys(rightSizeRows(items, "", [kIdleWord, kAdviceWord])), ["smaller"]);
  assert.equal(isIdle(item("x")), false);
});

test("rightSizeRows.Sort_UnknownLast", () => {
  const items = [item("a", { saving_bytes: 1 }), item("b", { saving_bytes: null }), item("c", { saving_bytes: 5 })];
  assert.deepEqual(keys(rightSizeRows(items, "-saving_bytes", [])), ["c", "a", "b"]);
  assert.deepEqual(keys(rightSizeRows(items, "saving_bytes", [])), ["a", "c", "b"]);
  assert.deepEqual(keys(rightSizeRows(items, "", [])), ["a", "b", "c"]);
});

test("changeOf.Cluster_LinesOfManifest", () => {
  assert.equal(changeOf(item("w", { advised_bytes: 6912 * 1024 ** 2, advised_cores: 15 }), true), `resources:
  limits:
    divvy.dev/gpumem: 6912Mi  # or nvidia.com/gpumem: 6912
    divvy.dev/gpucores: 15  # or nvidia.com/gpucores: 15
`);
  assert.equal(changeOf(item("w"), true), null);
});

test("changeOf.Machine_CommandWithQuotedName", () => {
  assert.equal(changeOf(item("train", { advised_bytes: 8 * kGiB }), false), "divvy resize train --memory 8Gi");
  assert.equal(changeOf(item("train", { advised_cores: 5 }), false), "divvy resize train --cores 5");
  for (const [name, word] of [["a b", "'a b'"], ["$(id)", "'$(id)'"], ["it's", "'it'\\''s'"], ["a;b", "'a;b'"], ["a\nb", "'a\nb'"], ["", "''"]]) {
    assert.equal(changeOf(item(name ?? "", { advised_cores: 5 }), false), `divvy resize ${word} --cores 5`);
  }
});

test("rightSize.Page_HasAnAddressAndARight", () => {
  assert.deepEqual(placeOf("/gpu/rightsize", "/gpu/"), { page: "rightsize", id: "" });
  assert.equal(kDays[0], "14");
  assert.equal(hiddenSource("rightsize", { everything: false, nodes: true, queues: true, pods: ["a"] }), "pods");
});
