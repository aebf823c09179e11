// What-if answers of the mock's cluster: why a pod waits, and where the pods of manifests would go.
import { Refusal } from "./answers.mjs";

const kGiB = 1024 ** 3;
const gib = (text) => (text ? Number.parseInt(text, 10) : null);

export function explainPod(world, id) {
  const share = [...world.shares.values()].find((each) => each.name === id);
  if (share) {
    return {
      pod: id, asks_for_devices: true, bound: true, fits: true, node: share.node, told: "", reasons: {}, nodes: [], fixes: [], would_fit_without: [],
      devices: [{ container: "main", uuid: share.device.uuid, memory: share.limit_bytes, compute_milli: share.cores_percent * 10 }],
    };
  }
  const row = world.waiting.find((each) => each.id === id);
  if (!row) throw new Refusal(404, "not-found", `pod ${id} is not there; see the list of waiting pods`);
  const nodes = world.nodeRows.map((node, at) => verdict(world, node, at, row));
  const reasons = {};
  for (const { why } of nodes) if (why) reasons[why] = (reasons[why] ?? 0) + 1;
  const size = gib(row.memory) ?? 8;
  const smaller = size > 80 ? "80Gi" : "16Gi";
  return {
    pod: id, asks_for_devices: true, bound: false, fits: nodes.some((node) => node.fits), devices: [], told: row.reason, reasons, nodes,
    ...(row.kind === "never-fits" ? { models_asked: { "use.divvy.dev/model": "H100" } } : {}),
    ...(row.kind === "unscheduled" ? { other_scheduler: "default-scheduler" } : {}),
    ...(row.kind === "waits-for-quota" ? { gated: `queue ${row.queue} has its guarantee in use and borrows nothing` } : {}),
    gates: row.kind === "held" ? ["example.com/approval"] : row.kind === "waits-for-quota" ? ["divvy.dev/queued"] : [],
    fixes: ["held", "waits-for-quota"].includes(row.kind) ? [] : [
      { change: `memory ${row.memory} -> ${smaller}`, node: "gpu-1", nodes: 3, changes: [{ container: 0, from: row.memory, to: smaller }] },
      ...(row.gpus > 1 ? [{ change: `devices ${row.gpus} -> 4`, node: "gpu-0", nodes: 1, changes: [{ container: 0, from: String(row.gpus), to: "4" }] }] : []),
    ],
    would_fit_without: row.kind === "waits-for-room" ? [...world.shares.values()].filter((each) => each.priority === "low").slice(0, 2).map((each) => each.name) : [],
  };
}

function verdict(world, node, at, row) {
  if (row.kind === "unscheduled" || at % 5 === 4) return { node: node.id, fits: false, why: "node(s) didn't match Pod's node affinity/selector", said_by: "kube-scheduler" };
  if (node.state !== "ready") return { node: node.id, fits: false, why: node.state === "cordoned" ? "the node is cordoned" : "the node is not ready", devices: [], fixes: [] };
  const devices = world.devices.filter((device) => device.node === node.id);
  const needed = (gib(row.memory) ?? 8) * kGiB;
  if (row.kind === "never-fits") {
    return {
      node: node.id, fits: false, why: "no device is large enough", fixes: [],
      devices: devices.map((each) => ({ uuid: each.uuid, why: "memory is larger than the device", needed, available: each.memory_total_bytes })),
    };
  }
  if (["held", "waits-for-quota"].includes(row.kind) && at < 3) return { node: node.id, fits: true };
  const full = devices.filter((each) => each.memory_total_bytes - each.memory_limits_bytes < needed);
  return {
    node: node.id, fits: false, why: `memory: ${devices.length - full.length < (row.gpus ?? 1) ? "too few devices have enough free" : "reserved for another pod"}`,
    devices: full.map((each) => ({ uuid: each.uuid, why: "not enough free memory", needed, available: Math.max(0, each.memory_total_bytes - each.memory_limits_bytes) })),
    fixes: ["memory -> 8Gi"],
  };
}

export function planPods(world, { manifest, namespace } = {}) {
  const documents = String(manifest ?? "").split(/^---\s*$/m).filter((text) => text.trim());
  if (documents.length === 0) throw new Refusal(400, "usage", "manifest: no document in it; paste at least one");
  return documents.flatMap((text, at) => {
    if (!/^kind:/m.test(text)) throw new Refusal(400, "usage", `manifest: document ${at + 1}, line 1: no member kind`);
    const name = /^ {2}(?:generateName|name): *"?([^"\n]+)/m.exec(text)?.[1] ?? "pod";
    const pod = `${namespace || "default"}/${name}`;
    const mebibytes = Number(/gpumem: *"?(\d+)/.exec(text)?.[1] ?? 0);
    if (/suspend: true/.test(text)) return [{ pod, fits: false, ended: [], idle: "the Job is suspended" }];
    if (mebibytes > 80 * 1024) return [{ pod, fits: false, ended: [], why: "8 nodes: no device is large enough; 4 nodes: not ready" }];
    const device = world.devices.find((each) => each.memory_total_bytes - each.memory_limits_bytes >= mebibytes * 1024 ** 2) ?? world.devices[0];
    const ended = mebibytes > 60 * 1024 ? ["batch/render-5"] : [];
    return [{ pod, fits: true, node: device.node, devices: [device.uuid], ended }];
  });
}
