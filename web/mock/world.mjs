// A world that changes: devices, shares, requests that wait, events. Deterministic by its seed and its tick.

const kGiB = 1024 ** 3;
const kModels = ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L40S"];
const kTotals = [80 * kGiB, 40 * kGiB, 48 * kGiB];
const kJobs = ["train", "llama-serve", "embed", "notebook-ana", "eval", "whisper", "rerank", "sweep", "render", "ocr"];

// Names that users could choose and that must not disturb a page.
export const kTraps = [
  "<script>alert(1)</script>", "مرحبا-بالعالم", "\u202Egnp.exe", "n".repeat(253), "a \"quoted\" 'name' & more",
  "line\nbreak\ttab", "=HYPERLINK(\"x\")", "<img src=x onerror=alert(2)>",
];

export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export class World {
  constructor({ shares = 40, devices = 8, seed = 7, faults = true, now = () => Date.now() } = {}) {
    Object.assign(this, { seed, faults, now });
    this.random = generator(seed);
    this.started = now();
    this.events = [];
    this.eventNumber = 0;
    this.nextShare = 0;
    this.deviceCount = devices;
    this.devices = Array.from({ length: devices }, (_, index) => this.makeDevice(index));
    this.shares = new Map();
    for (let count = 0; count < shares; count += 1) this.addShare();
    this.waiting = faults ? this.makeWaiting() : [];
    this.sources = this.devices.map((device) => device.node).filter((node, at, all) => all.indexOf(node) === at)
      .map((node) => ({ node, state: "ok", since_ms: this.started, message: "" }));
    if (faults) {
      this.sources.push({
        node: "gpu-3", state: "unreachable", since_ms: this.started - 260_000,
        message: "connection refused at 10.0.0.3:9411; start the agent: systemctl start divvy-agent",
      });
    }
    this.refreshDevices();
  }

  makeDevice(index) {
    const model = index % 8 === 6 ? 1 : index % 8 === 7 ? 2 : 0;
    const uuid = `GPU-${String(index).padStart(8, "0")}-7c1e-4f0a-9d55-${String(index * 7919).padStart(12, "0")}`;
    const faulty = this.faults && index === 5;
    return {
      id: uuid, node: index < 96 ? "studio" : `gpu-${Math.floor(index / 8)}`, index, uuid, model: kModels[model],
      pci: `00000000:${(0x17 + index * 8).toString(16)}:00.0`, numa: index < 4 ? 0 : 1, pool: "",
      state: faulty ? "faulty" : "healthy", state_reason: faulty ? "Xid 79: the device fell off the bus" : "",
      memory_total_bytes: kTotals[model], memory_used_bytes: 0, memory_limits_bytes: 0, memory_guaranteed_bytes: 0,
      memory_budget_bytes: kTotals[model], memory_booked_bytes: 0, memory_swapped_bytes: 0, context_bytes: 512 * 2 ** 20,
      overcommit_permille: index === 2 ? 1500 : 1000, memory_pressure_permille: null, compute_requested_percent: 0,
      utilisation_percent: 0, tenants: 0, checkpointed_tenants: 0, turn_length_ms: index === 2 ? 2000 : null,
      swap_predicted_ms: index === 2 ? 840 : null, swap_actual_ms: index === 2 ? 910 : null, thrash_risk: index === 2,
      turn_tenant: null, links: index < 4 ? [0, 1, 2, 3].filter((each) => each !== index)
        .map((each) => ({ device: each, score: 100, direct: true })) : [],
      nics: [{ name: `mlx5_${index >> 1}`, distance: 1 }], parts: [],
    };
  }

  addShare() {
    this.nextShare += 1;
    const number = this.nextShare;
    const id = `t-${number}`;
    const trap = this.faults ? kTraps[number - 1] : undefined;
    const healthy = this.devices.filter((device) => device.state === "healthy");
    const device = healthy[number % healthy.length];
    const limit = (1 + Math.floor(this.random() * 12)) * kGiB;
    const state = number % 17 === 0 ? "reserved" : number % 23 === 0 ? "broken" : number === 19 ? "orphaned" : "running";
    const share = {
      id, node: device.node, name: trap ?? `${kJobs[number % kJobs.length]}-${number}`, state,
      priority: ["normal", "high", "low"][number % 3], note: "", pid: 4000 + number, processes: 1 + (number % 3),
      created_ms: this.now() - Math.floor(this.random() * 86_400_000), command: number === 4 ? null : ["python", "-m", "torch.distributed.run", `${kJobs[number % kJobs.length]}.py`, "--seed", String(number)],
      limit_bytes: limit, guaranteed_bytes: Math.floor(limit / 2), used_bytes: 0, resident_bytes: 0, swapped_bytes: 0,
      pinned_bytes: 0, cores_percent: [10, 20, 30, 50][number % 4], usage_permille: 0, weight_percent: 50, devices: [],
      mode: "share", backend: "interposer", cores_policy: number % 2 ? "share" : "cap", throttled_permille: 0,
      throttled_ms: 0, launch_waits: 0, grants_per_s: 120, longest_kernel_us: 1800, overhead_cpu_permille: 3,
      refused_allocations: 0, pressure_waits: 0, swaps: 0, longest_wait_ms: 12, turn_left_ms: 0, memory_state: "resident",
      memory_reason: "fits", lent_to: null, idle_ms: number % 5 === 0 ? 1_200_000 + number * 1000 : 1200,
      idle_reclaim_ms: null, idle_stop_ms: null, stop_state: null, stop_left_ms: null, bypass: "", usage_mismatch: false,
      checkpoint: "here", slow_reasons: [],
    };
    share.deviceIndex = device.index;
    share.fill = 0.3 + this.random() * 0.6;
    if (number === 3) Object.assign(share, { used_bytes: null, resident_bytes: null, swapped_bytes: null, usage_permille: null, idle_ms: null, processes: null, unknown: true });
    this.shares.set(id, share);
    this.move(share);
    this.event("given", share, `${share.name} got ${limit / kGiB} GiB of device ${device.index}`);
    return share;
  }

  makeWaiting() {
    const rows = [
      { name: "finetune-70b", memory: "76Gi", gpus: 4, kind: "waits-for-room", reason: "no 4 devices with 76 GiB free; 2 would do" },
      { name: kTraps[0], memory: "24Gi", gpus: 1, kind: "waits-for-quota", reason: "queue research has 24 GiB less than this request" },
      { name: "monster", memory: "96Gi", gpus: 1, kind: "never-fits", reason: "96 GiB is more than the largest device (80 GiB)" },
      { name: kTraps[3], memory: null, gpus: 1, kind: "waits-for-room", reason: "memory is not known yet" },
    ];
    return rows.map((row, at) => ({
      id: `studio/${4711 + at}`, node: "studio", pid: 4711 + at, position: row.kind === "never-fits" ? null : at + 1,
      since_ms: at === 3 ? null : this.now() - (at + 1) * 95_000, ...row,
    }));
  }

  event(kind, share, text, device = null) {
    this.eventNumber += 1;
    const row = {
      id: `studio/${this.eventNumber}`, time_ms: this.now(), node: "studio", kind, share: share?.id ?? null,
      name: share?.name ?? null, device: device ?? (share ? this.devices[share.deviceIndex].id : null), text, actor: kind === "changed" ? "ana" : "",
    };
    this.events.unshift(row);
    if (this.events.length > 20_000) this.events.length = 20_000;
    return row;
  }

  // One step of a share's amounts.
  move(share) {
    if (share.unknown) {
      share.devices = [this.shareDevice(share)];
      return;
    }
    share.fill = Math.max(0.05, Math.min(1, share.fill + (this.random() - 0.5) * 0.08));
    const idle = share.idle_ms > 900_000;
    const swapping = share.deviceIndex === 2 && share.limit_bytes > 4 * kGiB;
    const used = Math.floor(share.limit_bytes * share.fill);
    share.used_bytes = share.state === "reserved" ? 0 : used;
    share.swapped_bytes = swapping ? Math.floor(share.used_bytes * 0.35) : 0;
    share.resident_bytes = share.used_bytes - share.swapped_bytes;
    share.usage_permille = idle || share.state !== "running" ? 0 : Math.floor(share.cores_percent * 10 * (0.4 + this.random() * 0.7));
    share.throttled_permille = share.usage_permille > share.cores_percent * 9 ? Math.floor(this.random() * 300) : 0;
    share.throttled_ms += share.throttled_permille;
    if (idle) share.idle_ms += 1000;
    share.slow_reasons = [
      ...(swapping ? [`35 % of its memory is swapped out: limits on device 2 add up to more than its memory`] : []),
      ...(share.throttled_permille ? [`throttled ${share.throttled_permille / 10} % of the time: it wants more than its ${share.cores_percent} %`] : []),
    ];
    share.memory_state = swapping ? "waiting" : "resident";
    share.memory_reason = swapping ? "others-turn" : "fits";
    share.devices = [this.shareDevice(share)];
  }

  shareDevice(share) {
    const device = this.devices[share.deviceIndex];
    return {
      id: device.id, index: device.index, model: device.model, limit_bytes: share.limit_bytes,
      guaranteed_bytes: share.guaranteed_bytes, used_bytes: share.used_bytes, allowed_bytes: share.limit_bytes,
      resident_bytes: share.unknown ? null : share.resident_bytes, swapped_bytes: share.swapped_bytes, pinned_bytes: 0,
      cores_percent: share.cores_percent, utilisation_percent: null, usage_permille: share.usage_permille,
      swap_out_bytes_per_s: share.swapped_bytes ? 120e6 : 0, swap_in_bytes_per_s: share.swapped_bytes ? 80e6 : 0,
    };
  }

  refreshDevices() {
    const by = this.devices.map(() => []);
    for (const share of this.shares.values()) by[share.deviceIndex].push(share);
    for (const device of this.devices) {
      const shares = by[device.index];
      const sum = (key) => shares.reduce((total, share) => total + (share[key] ?? 0), 0);
      const dead = device.state === "faulty";
      device.memory_limits_bytes = sum("limit_bytes");
      device.memory_guaranteed_bytes = sum("guaranteed_bytes");
      device.memory_booked_bytes = device.memory_limits_bytes;
      device.memory_swapped_bytes = sum("swapped_bytes");
      device.memory_used_bytes = dead ? null : Math.min(device.memory_total_bytes, sum("resident_bytes") + (device.index === 1 ? 6 : 1) * kGiB);
      device.compute_requested_percent = Math.min(100, sum("cores_percent"));
      device.utilisation_percent = dead ? null : Math.min(100, Math.round(sum("usage_permille") / 10));
      device.memory_pressure_permille = dead ? null : Math.round(Math.min(1, device.memory_limits_bytes / device.memory_total_bytes) * 300);
      device.tenants = shares.length;
      device.turn_tenant = device.index === 2 ? (shares[Math.floor(this.now() / 4000) % Math.max(1, shares.length)]?.id ?? null) : null;
      device.parts = shares.slice(0, 60).map((share) => ({
        share: share.id, name: share.name, priority: share.priority, limit_bytes: share.limit_bytes, used_bytes: share.used_bytes,
        resident_bytes: share.unknown ? null : share.resident_bytes, swapped_bytes: share.swapped_bytes, cores_percent: share.cores_percent,
        usage_permille: share.usage_permille,
      }));
    }
  }

  // One second passes. Returns what changed, by topic.
  tick() {
    const changed = { shares: new Set(), dropped: [], events: [] };
    const all = [...this.shares.values()];
    const count = Math.min(all.length, 60);
    for (let at = 0; at < count; at += 1) {
      const share = all[all.length <= 60 ? at : Math.floor(this.random() * all.length)];
      this.move(share);
      changed.shares.add(share.id);
    }
    const before = this.eventNumber;
    if (this.random() < 0.12) changed.shares.add(this.addShare().id);
    if (this.random() < 0.12 && all.length > 20) this.end(all[12 + Math.floor(this.random() * (all.length - 12))].id, changed);
    if (this.random() < 0.1) this.event("swapped-out", all[0], `${all[0].name}: 1.2 GiB swapped out, another share's turn`);
    this.refreshDevices();
    changed.events = this.events.slice(0, this.eventNumber - before);
    return changed;
  }

  end(id, changed) {
    const share = this.shares.get(id);
    if (!share) return;
    this.shares.delete(id);
    this.event("ended", share, `${share.name} ended`);
    changed?.dropped.push(id);
    changed?.shares.delete(id);
  }

  lists() {
    return {
      devices: () => this.devices, shares: () => this.shareRows(), waiting: () => this.waiting, events: () => this.events, nodes: () => this.sources,
    };
  }

  answer() {
    return undefined;
  }

  shareRows() {
    return [...this.shares.values()].map(({ deviceIndex, fill, unknown, ...row }) => row);
  }

  overview() {
    const shares = [...this.shares.values()];
    const sum = (rows, key) => rows.reduce((total, row) => total + (row[key] ?? 0), 0);
    const idle = shares.filter((share) => share.idle_ms > 900_000);
    const used = sum(this.devices, "utilisation_percent");
    const allocated = sum(this.devices, "compute_requested_percent");
    const attention = this.faults ? [
      { severity: "critical", code: "device-faulty", text: "device 5 of studio reported Xid 79; drain it and reset the node", link: `devices/${this.devices[5]?.id}` },
      { severity: "critical", code: "agent-unreachable", text: "agent of gpu-3 does not answer since 4 min; start it: systemctl start divvy-agent", link: null },
      { severity: "warning", code: "thrash-risk", text: "device 2 swaps longer than its turns; lower the limits or lengthen the turn", link: `devices/${this.devices[2].id}` },
      { severity: "info", code: "idle-share", text: `${kTraps[0]} holds 6 GiB and was idle for 20 min; stop it or let it be reclaimed`, link: "shares/t-1" },
    ] : [];
    return {
      funnel: {
        devices: this.devices.length, healthy_devices: this.devices.filter((device) => device.state === "healthy").length,
        memory: { total_bytes: sum(this.devices, "memory_total_bytes"), allocated_bytes: sum(shares, "limit_bytes"), used_bytes: sum(this.devices, "memory_used_bytes"), idle_bytes: sum(idle, "limit_bytes") },
        compute: { total_percent: this.devices.length * 100, allocated_percent: allocated, used_percent: used, idle_percent: Math.max(0, allocated - used) },
      },
      overcommit: { limits_bytes: sum(shares, "limit_bytes"), physical_bytes: sum(this.devices, "memory_total_bytes") },
      shares: {
        running: shares.filter((share) => share.state === "running").length, reserved: shares.filter((share) => share.state === "reserved").length,
        idle: idle.length, throttled: shares.filter((share) => share.throttled_permille > 0).length, swapped: shares.filter((share) => share.swapped_bytes > 0).length,
      },
      waiting: this.waiting.filter((row) => row.kind !== "never-fits").length, never_fit: this.waiting.filter((row) => row.kind === "never-fits").length,
      attention,
    };
  }
}
