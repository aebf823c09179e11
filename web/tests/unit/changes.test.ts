// What the forms of changes send.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isResized, noticeText, resizeOf, shareValues, stepped } from "../../src/core/changes";
import { cordonsFor } from "../../src/core/cordons";
import { emptyRow, hasWrongModel, isWrongAmount, queueChangeOf, queueValues } from "../../src/core/queue_changes";
import { scriptOf } from "../../src/core/paths";

const kGiB = 1024 ** 3;

test("stepped.Amounts_ChangeByGiB", () => {
  assert.equal(stepped("12Gi", -4), "8Gi");
  assert.equal(stepped("1.5 GiB", 1), "2560Mi");
  assert.equal(stepped("512Mi", 4), "4608Mi");
  for (const [text, gibi] of [["4Gi", -4], ["3Gi", -4], ["x", 1], ["", 1]] as const) assert.equal(stepped(text, gibi), null, text);
});

test("shareValues.SeveralDevices_AreOfEachDevice", () => {
  const device = { limit_bytes: 8 * kGiB, cores_percent: 30 };
  assert.deepEqual(shareValues({ limit_bytes: 16 * kGiB, cores_percent: 60, devices: [device, device] }), { memory: "8Gi", cores: "30" });
  assert.deepEqual(shareValues({ limit_bytes: 4 * kGiB, devices: [] }), { memory: "4Gi", cores: "" });
  assert.deepEqual(shareValues({ limit_bytes: null, devices: null }), { memory: "", cores: "" });
  assert.equal(shareValues({ cores_percent: 0 }).cores, ""); // no part of compute is set
});

test("resizeOf.OnlyDifferences_AreSent", () => {
  const now = { memory: "12Gi", cores: "20" };
  assert.equal(resizeOf(now, now), null);
  assert.deepEqual(resizeOf({ memory: "8 GiB", cores: "20" }, now), { memory: "8Gi" });
  assert.deepEqual(resizeOf({ memory: "12Gi", cores: "35" }, now), { cores: 35 });
  assert.equal(resizeOf({ memory: "", cores: "" }, now), null);
  // A limit between two MiB is not rounded in silence.
  const odd = shareValues({ limit_bytes: 8 * kGiB + 1, cores_percent: 20 });
  assert.deepEqual(resizeOf({ ...odd, cores: "30" }, odd), { cores: 30 });
});

test("isResized.RequestedValues_AreThere", () => {
  const share = { limit_bytes: 8 * kGiB, cores_percent: 20 };
  assert.equal(isResized(share, { memory: "8Gi" }), true);
  assert.equal(isResized(share, { memory: "8Gi", cores: 30 }), false);
  assert.equal(isResized(share, { memory: "9Gi", cores: 20 }), false);
});

test("cordonsFor.State_DecidesWhich", () => {
  assert.deepEqual(["healthy", "ready", "cordoned", "faulty", "not-ready"].map(cordonsFor), [
    ["cordon"], ["cordon"], ["uncordon"], ["cordon", "uncordon"], ["cordon", "uncordon"],
  ]);
});

test("noticeText.ControlCharacters_BecomeSpaces", () => {
  assert.equal(noticeText(" please\n\tend \u0007 it\u0085 "), "please end it");
  assert.equal(noticeText("مرحبا <b>"), "مرحبا <b>");
  assert.equal(noticeText("x".repeat(600)).length, 500);
});

const kQueue = {
  guarantee: [{ model: "H100", devices_milli: 2500, memory_bytes: null }], limit: [{ model: "*", devices_milli: 8000, memory_bytes: 640 * kGiB }],
  weight: 2, borrows: false,
};

test("queueValues.Amounts_BecomeTextsByModel", () => {
  const { rows, weight, borrows } = queueValues(kQueue);
  assert.deepEqual(rows, [
    { ...emptyRow("*"), limit_devices: "8", limit_memory: "640Gi" }, { ...emptyRow("H100"), guarantee_devices: "2.5" },
  ]);
  assert.deepEqual([weight, borrows], ["2", false]);
  assert.deepEqual(queueValues({}), { rows: [emptyRow("*")], weight: "", borrows: true });
});

test("queueChangeOf.OnlyDifferences_ReplaceLists", () => {
  const values = queueValues(kQueue);
  assert.equal(queueChangeOf(values, kQueue), null);
  const [all, h100] = values.rows as [typeof values.rows[0], typeof values.rows[0]];
  assert.deepEqual(queueChangeOf({ ...values, rows: [all, { ...h100, guarantee_devices: "3", guarantee_memory: "1.5 GiB" }] }, kQueue), {
    guarantee: [{ model: "H100", devices_milli: 3000, memory_bytes: 1.5 * kGiB }],
  });
  assert.deepEqual(queueChangeOf({ rows: [emptyRow("*"), h100], weight: "3", borrows: true }, kQueue), { limit: [], weight: 3, borrows: true });
  const added = { ...emptyRow(" L40S "), limit_memory: "1" }; // MiB is the least
  assert.deepEqual(queueChangeOf({ ...values, rows: [all, h100, added, emptyRow("")] }, kQueue), {
    limit: [...kQueue.limit, { model: "L40S", devices_milli: null, memory_bytes: 1024 ** 2 }],
  });
  assert.equal(queueChangeOf({ ...values, weight: "" }, kQueue), null);
});

test("queueForm.WrongFields_AreFound", () => {
  for (const text of ["", " 2 ", "0.5", "0", "2.125"]) assert.equal(isWrongAmount("limit_devices", text), false, text);
  for (const text of ["-1", "2.0001", "1e3", "two", "1,5", "9".repeat(10)]) assert.equal(isWrongAmount("limit_devices", text), true, text);
  assert.deepEqual(["8Gi", "", "8x"].map((text) => isWrongAmount("guarantee_memory", text)), [false, false, true]);
  const row = (model: string) => ({ ...emptyRow(model), limit_devices: "1" });
  assert.equal(hasWrongModel([row("*"), row("H100")]), false);
  assert.equal(hasWrongModel([row("*"), emptyRow("*"), emptyRow("")]), false);
  assert.equal(hasWrongModel([row("H100"), row(" H100")]), true);
  assert.equal(hasWrongModel([row(" ")]), true);
});

test("scriptOf.PagesOfACluster_HaveTheirOwn", () => {
  assert.deepEqual([scriptOf("queue", true), scriptOf("queue", false), scriptOf("waiting", true), scriptOf("waiting", false)],
    ["work", "common", "cluster", "common"]);
  assert.deepEqual([scriptOf("share", true), scriptOf("shares", true), scriptOf("usage", true), scriptOf("planner", false)],
    ["items", "common", "usage", "planner"]);
});
