// Pure code of the pages of a cluster: reasons, queue bars, manifests, paths.
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryBar } from "../../src/core/bar_parts";
import { podManifest } from "../../src/core/manifest";
import { deviceLink, filteredLink, placeOf, workloadLink } from "../../src/core/paths";
import { queueBars } from "../../src/core/queue_bars";
import { groupReasons, otherGates } from "../../src/core/reasons";
import type { Device } from "../../src/data/types";

test("groupReasons.EqualReasons_ShareAGroup", () => {
  const nodes = [
    { node: "a", fits: false, why: "full" }, { node: "b", fits: true }, { node: "c", fits: false, why: "taint", said_by: "kube-scheduler" },
    { node: "d", fits: false, why: "full" }, { node: "e", fits: false, why: "taint" }, { node: "d", fits: false, why: "taint" },
  ];
  const groups = groupReasons({ pod: "x/y", nodes, reasons: { full: 2, "2 devices are full": 2 } });
  assert.deepEqual(groups.map(({ why, saidBy, count }) => [why, saidBy, count]), [
    ["", "", 1], ["full", "", 2], ["taint", "kube-scheduler", 1], ["taint", "", 1],
  ]);
  assert.deepEqual(groups[1]?.nodes.map((node) => node.node), ["a", "d"]);
});

test("groupReasons.TooFewDevices_ReasonsOfDevicesNamed", () => {
  const tooFew = "container 0 needs 1 device, 0 fit";
  const node = (name: string, ...whys: string[]) => ({ node: name, fits: false, why: tooFew, devices: whys.map((why, at) => ({ uuid: String(at), why })) });
  const groups = groupReasons({ pod: "x/y", nodes: [node("a", "too large", "too large"), node("b", "cordoned", "too large"), node("c", "too large")] });
  assert.deepEqual(groups.map(({ why, count }) => [why, count]), [[`${tooFew}: too large`, 2], [`${tooFew}: cordoned; too large`, 1]]);
});

test("groupReasons.ReasonWithoutNodes_KeepsItsNumber", () => {
  const [group] = groupReasons({ pod: "x/y", reasons: { "no agent": 5000, none: 0 } });
  assert.deepEqual(group, { why: "no agent", saidBy: "", count: 5000, nodes: [] });
  assert.deepEqual(groupReasons({ pod: "x/y" }), []);
  assert.equal(groupReasons({ pod: "x/y", nodes: [{ node: "a" }] })[0]?.why, "");
});

test("otherGates.QueueGate_IsLeftOut", () => {
  assert.deepEqual(otherGates({ pod: "x/y", gates: ["divvy.dev/queued", "example.com/approval"] }), ["example.com/approval"]);
  assert.deepEqual(otherGates({ pod: "x/y" }), []);
});

test("queueBars.Amounts_BecomeABarForEachMeasure", () => {
  const bars = queueBars({
    guarantee: [{ model: "H100", devices_milli: 8000 }, { model: "*", devices_milli: 12000, memory_bytes: null }],
    used: [{ model: "*", devices_milli: 15500, memory_bytes: 9 }], borrowed: [{ model: "*", devices_milli: 3500 }],
    limit: [{ model: "*", devices_milli: 20000 }],
  });
  assert.deepEqual(bars, [
    { model: "*", bytes: false, guarantee: 12000, used: 15500, borrowed: 3500, limit: 20000, scale: 20000 },
    { model: "*", bytes: true, guarantee: null, used: 9, borrowed: null, limit: null, scale: 9 },
    { model: "H100", bytes: false, guarantee: 8000, used: null, borrowed: null, limit: null, scale: 8000 },
  ]);
});

test("queueBars.NoGuaranteeAndLimit_BorrowsNothing", () => {
  const [bar] = queueBars({ used: [{ model: "*", devices_milli: 2000 }], borrowed: [{ model: "*", devices_milli: 2000 }] });
  assert.deepEqual([bar?.used, bar?.borrowed, bar?.limit], [2000, null, null]);
});

test("memoryBar.UseNotKnown_KeepsWhatIsAllocated", () => {
  const part = { share: "a", name: "a", limit_bytes: 40, used_bytes: null };
  const device = { id: "d", node: "n", index: 0, state: "healthy", memory_total_bytes: 80, memory_used_bytes: 60, parts: [part] } as unknown as Device;
  const bar = memoryBar(device);
  assert.deepEqual(bar.parts.map(({ width, used }) => [width, used]), [[500, 0]]);
  assert.equal(bar.other, 0);
});

test("queueBars.NothingStated_IsNoBar", () => {
  assert.deepEqual(queueBars({}), []);
  assert.deepEqual(queueBars({ used: null, limit: [{ model: "*", devices_milli: null }] }), []);
  assert.equal(queueBars({ used: [{ model: "*", devices_milli: 0 }] })[0]?.used, 0);
});

test("podManifest.Form_BecomesResources", () => {
  const text = podManifest({ memory: "16Gi", cores: "30", devices: "2", model: 'H100" x' });
  assert.match(text, /divvy\.dev\/gpu: "2"\n {10}divvy\.dev\/gpumem: "16384Mi"\n {10}divvy\.dev\/gpucores: "30"\n$/);
  assert.match(text, /\n {2}annotations:\n {4}use\.divvy\.dev\/model: "H100\\" x"\nspec:/);
  const least = podManifest({ memory: "", cores: " ", devices: "", model: "" });
  assert.match(least, /divvy\.dev\/gpu: "1"\n$/);
  assert.ok(!least.includes("annotations") && !least.includes("gpumem"));
});

test("paths.IdsWithSlashes_AreReadable", () => {
  assert.equal(deviceLink("gpu-1/GPU a"), "devices/gpu-1/GPU%20a");
  assert.equal(workloadLink("ns", "Job/x"), "workloads/ns/Job/x");
  assert.equal(filteredLink("shares", "team:a b"), "shares?filter=team%3Aa+b");
  assert.deepEqual(placeOf("/waiting/ns/pod", "/"), { page: "waiting-pod", id: "ns/pod" });
  assert.deepEqual(placeOf("/queues/nlp", "/"), { page: "queue", id: "nlp" });
  assert.deepEqual(placeOf("/pools/x", "/"), { page: "unknown", id: "" });
});
