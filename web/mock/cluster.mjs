// A cluster that changes: nodes, devices, shares, waiting pods, queues, pools, teams. Same interface as World.
import { Refusal } from "./answers.mjs";
import { explainPod, planPods } from "./cluster_answers.mjs";
import { generator, kTraps } from "./world.mjs";

const kGiB = 1024 ** 3;
const kMinute = 60_000;
const kModels = [["NVIDIA H100 80GB HBM3", 80], ["NVIDIA A100-SXM4-40GB", 40], ["NVIDIA L40S", 48]];
const kOwners = [
  ["research", "Job/finetune-llama", "nlp", "nlp"], ["research", "StatefulSet/notebooks", "research", "nlp"],
  ["research", "JobSet/sweep", "vision", "vision"], ["serving", "Deployment/chat", "serving", "platform"],
  ["serving", "InferenceService/embed", "serving", "platform"], ["batch", "Job/render", "batch", "media"],
  ["batch", "CronJob/nightly-eval", "batch", "media"], ["sandbox", "Deployment/demo", null, null],
];
const kServed = { "Deployment/chat": "meta-llama/Llama-3.1-8B-Instruct", "InferenceService/embed": "BAAI/bge-m3" };

export class ClusterWorld {
  constructor({ nodes = 12, devices = 8, shares = 130, seed = 11, faults = true, agents = true, now = () => Date.now() } = {}) {
    Object.assign(this, { faults, agents, now });
    this.random = generator(seed);
    this.started = now();
    this.events = [];
    this.eventNumber = 0;
    this.queueChanges = new Map(); // members by queue
    this.requested = []; // changes that the scheduler has not carried out yet
    this.refusals = {}; // {code, message} by the kind of change
    this.nodeRows = Array.from({ length: nodes }, (_, at) => this.makeNode(at));
    this.devices = this.nodeRows.flatMap((node, at) => Array.from({ length: devices }, (_, index) => this.makeDevice(node, at, index)));
    this.shares = new Map();
    for (let number = 0; number < shares; number += 1) this.addShare(number);
    this.waiting = faults ? this.makeWaiting() : [];
    this.sources = ["nodes", "pods", "queues"].map((node) => ({ node, state: "ok", since_ms: this.started, message: "" }));
    if (faults) {
      this.sources.push({
        node: "agent of gpu-9", state: "unreachable", since_ms: this.started - 4 * kMinute,
        message: "connection refused at 10.0.0.9:9411; see kubectl -n divvy logs ds/divvy-agent",
      });
    }
    this.refresh();
  }

  makeNode(at) {
    const state = !this.faults ? "ready" : { 5: "cordoned", 8: "not-ready", 9: "unreadable" }[at] ?? "ready";
    const reasons = { cordoned: "kubectl cordon", "not-ready": "the kubelet stopped posting node status", unreadable: "the annotation divvy.dev/devices has version 9; upgrade the scheduler" };
    return { id: `gpu-${at}`, node: `gpu-${at}`, state, state_reason: reasons[state] ?? "", pool: ["training", "inference", "shared"][at % 3], silent: !this.agents || (this.faults && at >= 8 && at <= 9) };
  }

  makeDevice(node, at, index) {
    const [model, size] = kModels[at % 3];
    const uuid = `GPU-${String(at).padStart(4, "0")}${String(index).padStart(4, "0")}-7c1e-4f0a-9d55-${String((at * 8 + index) * 7919).padStart(12, "0")}`;
    const faulty = this.faults && at === 3 && index === 5;
    return {
      id: `${node.id}/${uuid}`, node: node.id, index, uuid, kind: "nvidia", model, pci: `00000000:${(0x17 + index * 8).toString(16)}:00.0`, numa: index >> 2,
      pool: node.pool, state: faulty ? "faulty" : node.state === "cordoned" ? "cordoned" : "healthy",
      state_reason: faulty ? "Xid 79: the device fell off the bus" : "", memory_total_bytes: size * kGiB, memory_used_bytes: null,
      memory_limits_bytes: 0, memory_swapped_bytes: null, memory_pressure_permille: null, memory_guaranteed_bytes: null, overcommit_permille: null,
      compute_requested_percent: 0, utilisation_percent: null, tenants: 0, turn_tenant: null, parts: [],
    };
  }

  addShare(number) {
    const [namespace, owner, queue, team] = kOwners[number % kOwners.length];
    const device = this.devices[(number * 5 + Math.floor(number / 24)) % Math.floor(this.devices.length * 0.85)];
    const name = owner.split("/")[1];
    const pod = this.faults && number === 7 ? "n".repeat(63) : `${name}-${number}`;
    const limit = Math.min(device.memory_total_bytes, [8, 12, 16, 24, 40][number % 5] * kGiB);
    const share = {
      id: `${namespace}/${pod}/main`, node: device.node, name: `${namespace}/${pod}`, state: number % 29 === 3 ? "ending" : number % 31 === 4 ? "pending" : "running",
      namespace, pod, container: "main", owner, queue, team: this.faults && number === 15 ? kTraps[1] : team,
      model_served: this.faults && number === 4 ? kTraps[0] : kServed[owner] ?? null,
      image: `registry.example/${name}:v${1 + (number % 3)}`, priority: ["normal", "high", "low"][number % 3], note: this.faults && number === 3 ? kTraps[2] : "",
      created_ms: this.now() - Math.floor(this.random() * 86_400_000), limit_bytes: limit, guaranteed_bytes: null, used_bytes: null, resident_bytes: null,
      swapped_bytes: null, cores_percent: [10, 20, 30, 50][number % 4], usage_permille: null, idle_ms: null, throttled_permille: null, slow_reasons: null,
      devices: [], device, fill: 0.3 + this.random() * 0.6, number,
    };
    this.shares.set(share.id, share);
    this.move(share);
    this.event("Scheduled", share.name, share.node, `Successfully assigned ${share.name} to ${share.node}`);
  }

  makeWaiting() {
    const rows = [
      { namespace: "research", name: "llama-70b-0", owner: "JobSet/llama-70b", queue: "nlp", memory: "76Gi", gpus: 8, kind: "waits-for-room", reason: "8 devices with 76 GiB: no node has more than 5" },
      { namespace: "research", name: "sweep-41", owner: "JobSet/sweep", queue: "vision", memory: "24Gi", gpus: 1, kind: "waits-for-quota", reason: "queue vision has its guarantee of 4 devices in use, and research lends no more" },
      { namespace: "batch", name: "render-big", owner: "Job/render", queue: "batch", memory: "96Gi", gpus: 1, kind: "never-fits", reason: "96 GiB is more than the largest device (80 GiB)" },
      { namespace: "serving", name: "chat-canary", owner: "Deployment/chat", queue: "serving", memory: "16Gi", gpus: 1, kind: "held", reason: "held by scheduling gate example.com/approval" },
      { namespace: "sandbox", name: "demo-9", owner: null, queue: null, memory: "8Gi", gpus: 1, kind: "unscheduled", reason: `0/12 nodes are available: 12 node(s) didn't match Pod's node affinity ${kTraps[7]}` },
      { namespace: "batch", name: "n".repeat(63), owner: "Job/render", queue: "batch", memory: null, gpus: null, kind: "waits-for-room", reason: "memory is not known yet" },
    ];
    return rows.map((row, at) => ({
      id: `${row.namespace}/${row.name}`, node: "", pid: null, position: row.kind.startsWith("waits") ? 1 + (at % 3) : null, cores: 30, priority: "normal",
      priority_value: 1000 * (3 - (at % 3)), since_ms: at === 5 ? null : this.now() - (at * at + 1) * 7 * kMinute, ...row, name: `${row.namespace}/${row.name}`,
    }));
  }

  event(kind, name, node, text) {
    this.eventNumber += 1;
    const row = { id: `${this.eventNumber}`, time_ms: this.now(), node, kind, share: null, name, device: null, text, actor: "divvy-scheduler" };
    this.events.unshift(row);
    return row;
  }

  move(share) {
    const silent = this.nodeRows.find((node) => node.id === share.node).silent;
    if (!silent && share.state === "running") {
      share.fill = Math.max(0.05, Math.min(1, share.fill + (this.random() - 0.5) * 0.08));
      share.used_bytes = Math.floor(share.limit_bytes * share.fill);
      Object.assign(share, {
        resident_bytes: share.used_bytes, swapped_bytes: 0, usage_permille: Math.floor(share.cores_percent * 10 * (0.4 + this.random() * 0.6)),
        idle_ms: share.number % 5 ? 1200 : 1_500_000, throttled_permille: 0,
      });
    }
    const { device } = share;
    share.devices = [{
      id: device.id, index: device.index, model: device.model, limit_bytes: share.limit_bytes, used_bytes: share.used_bytes,
      resident_bytes: share.resident_bytes, swapped_bytes: share.swapped_bytes, cores_percent: share.cores_percent, usage_permille: share.usage_permille,
    }];
  }

  refresh() {
    const of = new Map(this.devices.map((device) => [device.id, []]));
    for (const share of this.shares.values()) of.get(share.device.id).push(share);
    for (const device of this.devices) {
      const shares = of.get(device.id);
      const silent = this.nodeRows.find((node) => node.id === device.node).silent;
      device.memory_limits_bytes = sum(shares, "limit_bytes");
      device.compute_requested_percent = sum(shares, "cores_percent");
      device.tenants = shares.length;
      device.memory_used_bytes = silent ? null : Math.min(device.memory_total_bytes, sum(shares, "used_bytes") + kGiB);
      device.utilisation_percent = silent ? null : Math.min(100, Math.round(sum(shares, "usage_permille") / 10));
      device.parts = shares.map((share) => ({
        share: share.id, name: share.name, priority: share.priority, limit_bytes: share.limit_bytes, used_bytes: share.used_bytes,
        resident_bytes: share.resident_bytes, swapped_bytes: share.swapped_bytes, cores_percent: share.cores_percent, usage_permille: share.usage_permille,
      }));
    }
  }

  // One second passes. Returns what changed, by topic.
  tick() {
    const changed = { shares: new Set(), dropped: [], events: [] };
    for (const share of this.shares.values()) {
      if (this.random() > 0.4) continue;
      this.move(share);
      changed.shares.add(share.id);
    }
    const before = this.eventNumber;
    if (this.waiting.length && this.random() < 0.1) this.event("FailedScheduling", this.waiting[0].name, null, this.waiting[0].reason);
    this.refresh();
    changed.events = this.events.slice(0, this.eventNumber - before);
    return changed;
  }

  // The scheduler carries out what was requested.
  settle() {
    for (const apply of this.requested.splice(0)) apply();
    this.refresh();
  }

  end(id) {
    this.shares.delete(id);
    this.refresh();
  }

  shareRows() {
    return [...this.shares.values()].map(({ device, fill, number, ...row }) => row);
  }

  nodes() {
    return this.nodeRows.map(({ silent, ...node }) => {
      const devices = this.devices.filter((device) => device.node === node.id);
      const bare = node.state === "unreadable";
      return {
        ...node, driver: silent ? null : "570.124.06", agent_pid: null, host_reserve_bytes: silent ? null : 0, host_committed_bytes: silent ? null : 0,
        loop_late_ms: silent ? null : 1, devices: bare ? null : devices.length, healthy_devices: bare ? null : devices.filter((each) => each.state !== "faulty").length,
        models: bare ? null : `${devices.length} x ${devices[0].model}`, memory_total_bytes: bare ? null : sum(devices, "memory_total_bytes"),
        memory_limits_bytes: bare ? null : sum(devices, "memory_limits_bytes"), memory_used_bytes: silent ? null : sum(devices, "memory_used_bytes"),
        compute_requested_percent: bare ? null : sum(devices, "compute_requested_percent"), shares: sum(devices, "tenants"), waiting: 0,
      };
    });
  }

  workloads() {
    return groups(this.shares.values(), (share) => `${share.namespace}/${share.owner}`).map(([id, shares]) => {
      const [namespace, kind, name] = id.split("/");
      const waiting = this.waiting.filter((row) => `${row.namespace}/${row.owner}` === id).length;
      return {
        id, namespace, kind, name, team: shares[0].team, queue: shares[0].queue, pods: shares.length + waiting, shares: shares.length, waiting,
        devices: shares.length, memory_limits_bytes: sum(shares, "limit_bytes"), memory_used_bytes: sumKnown(shares, "used_bytes"),
        compute_requested_percent: sum(shares, "cores_percent"), models: unique(shares, "model_served").join(", "), images: unique(shares, "image").join(", "),
      };
    });
  }

  teams() {
    return groups(this.shares.values(), (share) => share.team ?? share.namespace).map(([id, shares]) => ({
      id, name: id, namespaces: unique(shares, "namespace"), shares: shares.length, waiting: this.waiting.filter((row) => unique(shares, "queue").includes(row.queue)).length,
      devices: sum(shares, "cores_percent") / 100, memory_limits_bytes: sum(shares, "limit_bytes"), memory_used_bytes: sumKnown(shares, "used_bytes"),
      compute_requested_percent: sum(shares, "cores_percent"),
    }));
  }

  models() {
    return groups([...this.shares.values()].filter((share) => share.model_served), (share) => share.model_served).map(([id, shares]) => ({
      id, name: id, source: shares[0].owner.startsWith("Inference") ? "spec.predictor.model" : "argument --model", namespaces: unique(shares, "namespace"),
      shares: shares.length, nodes: unique(shares, "node"), images: unique(shares, "image"), memory_limits_bytes: sum(shares, "limit_bytes"),
    }));
  }

  pools() {
    return ["training", "inference", "shared"].map((id, at) => {
      const devices = this.devices.filter((device) => device.pool === id);
      return {
        id, name: id, devices: devices.length, free_devices: devices.filter((each) => each.tenants === 0).length, memory_total_bytes: sum(devices, "memory_total_bytes"),
        memory_limits_bytes: sum(devices, "memory_limits_bytes"), largest_free_bytes: Math.max(...devices.map((each) => each.memory_total_bytes - each.memory_limits_bytes)),
        compute_requested_percent: sum(devices, "compute_requested_percent"), shares: sum(devices, "tenants"), nodes: unique(devices, "node").length,
        namespaces: at === 2 ? [] : at === 0 ? ["research", "batch"] : ["serving"],
      };
    });
  }

  queues() {
    const all = (devices, gib = null) => [{ model: "*", devices_milli: devices === null ? null : devices * 1000, memory_bytes: gib === null ? null : gib * kGiB }];
    const rows = [
      ["org", null, all(48), all(null), all(33.5), [], true, ""], ["org/research", "org", all(24), all(40), all(21), [], true, ""],
      ["org/research/nlp", "research", [...all(12), { model: "H100", devices_milli: 8000, memory_bytes: null }], all(20), [...all(15.5), { model: "H100", devices_milli: 9000, memory_bytes: null }, { model: "L40S", devices_milli: 2000, memory_bytes: null }], [...all(3.5), { model: "L40S", devices_milli: 2000, memory_bytes: null }], true, ""],
      ["org/research/vision", "research", all(4), all(4), all(4), [], false, ""], ["org/serving", "org", all(16, 640), all(16, 640), all(9.5, 300), all(0), true, ""],
      ["org/batch", "org", [], all(12), all(2), all(2), true, this.faults ? `spec.limit of ${kTraps[0]} is below its children's guarantees; raise it` : ""],
    ];
    return rows.map(([path, parent, guarantee, limit, used, borrowed, borrows, fault]) => {
      const name = path.split("/").pop();
      const waiting = this.waiting.filter((row) => row.queue === name);
      return {
        id: name, name, parent, depth: path.split("/").length - 1, path, namespaces: name === "org" ? [] : [name], pool: name === "serving" ? "inference" : "",
        weight: 1, borrows, guarantee, limit, used, borrowed, running: [...this.shares.values()].filter((share) => share.queue === name).length,
        pending: waiting.length, waiting: waiting.map((row) => ({ reason: row.reason, pods: 1, example: row.name })), fault, ...this.queueChanges.get(name),
      };
    });
  }

  lists() {
    return {
      nodes: () => this.nodes(), devices: () => this.devices, shares: () => this.shareRows(), waiting: () => this.waiting, events: () => this.events,
      workloads: () => this.workloads(), queues: () => this.queues(), pools: () => this.pools(), teams: () => this.teams(), models: () => this.models(),
    };
  }

  // Answers that only a cluster has; undefined for other paths.
  answer(path, body) {
    const pod = /^waiting\/([^/]+\/[^/]+)\/explain$/.exec(path)?.[1];
    if (pod) return { explanation: explainPod(this, decodeURIComponent(pod)) };
    if (path === "plan") return { plan: planPods(this, body) };
    if (path === "explain") throw new Refusal(404, "not-found", `no such endpoint: ${path}`);
    return undefined;
  }

  overview() {
    const shares = [...this.shares.values()];
    const kinds = Object.fromEntries(["waits-for-room", "waits-for-quota", "never-fits", "held", "unscheduled"]
      .map((kind) => [kind, this.waiting.filter((row) => row.kind === kind).length]));
    const allocated = sum(this.devices, "compute_requested_percent");
    const used = this.agents ? sum(this.devices, "utilisation_percent") : null;
    const state = (name) => shares.filter((share) => share.state === name).length;
    return {
      funnel: {
        devices: this.devices.length, healthy_devices: this.devices.filter((device) => device.state !== "faulty").length,
        memory: { total_bytes: sum(this.devices, "memory_total_bytes"), allocated_bytes: sum(shares, "limit_bytes"), used_bytes: this.agents ? sum(this.devices, "memory_used_bytes") : null, idle_bytes: null },
        compute: { total_percent: this.devices.length * 100, allocated_percent: allocated, used_percent: used, idle_percent: used === null ? null : Math.max(0, allocated - used) },
      },
      overcommit: { limits_bytes: sum(shares, "limit_bytes"), physical_bytes: sum(this.devices, "memory_total_bytes") },
      shares: { running: state("running"), pending: state("pending"), ending: state("ending"), idle: null, throttled: null, swapped: null },
      nodes: this.nodeRows.length, waiting: this.waiting.length - kinds["never-fits"], never_fit: kinds["never-fits"], waiting_kinds: kinds,
      attention: this.faults ? [
        { severity: "critical", code: "device-faulty", text: "device 5 of gpu-3 reported Xid 79; drain the node and reset it", link: `devices/${this.devices[29].id}` },
        { severity: "critical", code: "node-not-ready", text: "gpu-8 is not ready: the kubelet stopped posting node status", link: "nodes/gpu-8" },
        { severity: "warning", code: "queue-not-in-force", text: `queue batch is not in force: limit of ${kTraps[0]}`, link: "queues/batch" },
      ] : [],
    };
  }
}

const sum = (rows, key) => rows.reduce((total, row) => total + (row[key] ?? 0), 0);
const sumKnown = (rows, key) => (rows.some((row) => row[key] == null) ? null : sum(rows, key));
const unique = (rows, key) => [...new Set(rows.map((row) => row[key]).filter(Boolean))];

function groups(rows, of) {
  const found = new Map();
  for (const row of rows) found.set(of(row), [...(found.get(of(row)) ?? []), row]);
  return [...found];
}
