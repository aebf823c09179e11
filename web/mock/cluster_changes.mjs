// Changes of the mock's cluster: as the contract says, with refusals, requests that go on, and missing rights.
import { Refusal } from "./answers.mjs";

const kGiB = 1024 ** 3;
const kMiB = 1024 ** 2;
const kBody = ["what", "target", "to", "dry_run"];
const kChanges = { resize: ["share"], priority: ["share"], cordon: ["device", "node"], uncordon: ["device", "node"], evict: ["pod"], notice: ["pod"], queue: ["queue"] };
const kTo = { resize: ["memory", "cores"], priority: ["priority"], notice: ["text"], queue: ["guarantee", "limit", "weight", "borrows"] };
const kReasons = {
  resize: "ResizeRequested", priority: "PriorityRequested", cordon: "DeviceCordoned", uncordon: "DeviceUncordoned", evict: "EvictionRequested",
  notice: "OperatorNotice", queue: "QueueChanged",
};

const sizeText = (bytes) => `${Math.round((bytes / kGiB) * 10) / 10}GiB`;
const usage = (message, accepted) => new Refusal(400, "usage", message, accepted);

function sizeOf(text) {
  const match = /^(\d+(?:\.\d+)?)(Mi|Gi)$/.exec(String(text));
  if (!match) throw usage(`memory ${text} is no size; use 6Gi or 512Mi`, ["6Gi", "512Mi"]);
  return Number(match[1]) * (match[2] === "Gi" ? kGiB : kMiB);
}

function checkWords(object, accepted, where) {
  for (const word of Object.keys(object ?? {})) if (!accepted.includes(word)) throw usage(`${where}: unknown member ${word}`, accepted);
}

// A change of `world` for a viewer who sees `view`. `user` has all rights but those that `viewer` lacks.
export function changeCluster(world, view, body, { user, viewer }) {
  checkWords(body, kBody, "body");
  const { what, target = {}, to = {}, dry_run: dryRun = true } = body;
  if (!kChanges[what]) throw usage(`unknown change ${what}`, Object.keys(kChanges));
  checkWords(target, kChanges[what], "target");
  checkWords(to, kTo[what] ?? [], "to");
  const found = targetOf(view, target);
  const plan = { effects: [], warnings: [], refused: null, apply: () => {}, isSlow: false };
  kPlans[what](plan, world, found, to, what);
  if (viewer?.may && !viewer.may.includes(what)) {
    plan.refused = { code: "forbidden", message: `User "${user}" cannot ${what === "evict" ? 'create resource "pods/eviction"' : "patch this resource"}; ask for the right` };
  }
  plan.refused ??= world.refusals[what] ?? null;
  const head = { dry_run: dryRun, effects: plan.refused ? [] : plan.effects, warnings: plan.warnings, refused: plan.refused };
  if (dryRun || plan.refused) return { ...head, state: "planned", recorded: null };
  if (plan.isSlow) world.requested.push(plan.apply);
  else plan.apply();
  const recorded = viewer?.events !== false;
  if (recorded) world.event(kReasons[what], found.pod ?? Object.values(target)[0], found.node ?? null, `${user}: ${plan.effects[0]}`);
  world.refresh();
  return { ...head, state: plan.isSlow ? "requested" : "done", recorded };
}

function targetOf(view, target) {
  const [kind, id] = Object.entries(target)[0] ?? [];
  const shares = [...view.shares.values()];
  const found = {
    share: () => view.shares.get(id), pod: () => shares.find((share) => share.name === id), device: () => view.devices.find((device) => device.id === id),
    node: () => view.nodeRows.find((node) => node.id === id), queue: () => view.queues().find((queue) => queue.id === id),
  }[kind]?.();
  if (!found) throw new Refusal(404, "not-found", `${kind} ${id} is not there (any more); nothing was changed`);
  return kind === "share" || kind === "pod" ? { share: found, pod: found.name, node: found.node } : { [kind]: found };
}

const kPlans = {
  resize(plan, world, { share }, to) {
    const bytes = to.memory === undefined ? share.limit_bytes : sizeOf(to.memory);
    const free = share.device.memory_total_bytes - share.device.memory_limits_bytes + share.limit_bytes;
    if (bytes !== share.limit_bytes) plan.effects.push(`memory limit of container ${share.container}: ${sizeText(share.limit_bytes)} to ${sizeText(bytes)} on each of 1 device`);
    if (to.cores !== undefined) plan.effects.push(`compute of container ${share.container}: ${share.cores_percent}% to ${to.cores}% of each of 1 device`);
    if (bytes < (share.used_bytes ?? 0)) plan.warnings.push(`less than it uses now (${sizeText(share.used_bytes)}): the agent will refuse it`);
    if (bytes > Math.max(free, share.limit_bytes)) plan.refused = { code: "NoRoom", message: `device ${share.device.index} of ${share.node} has ${sizeText(free)} for this container` };
    plan.isSlow = share.owner === "Job/render";
    plan.apply = () => {
      Object.assign(share, { limit_bytes: bytes, cores_percent: to.cores ?? share.cores_percent });
      world.move(share);
    };
  },
  priority(plan, _, { share }, { priority }) {
    if (!["high", "normal", "low"].includes(priority)) throw usage(`priority ${priority} is not accepted`, ["high", "normal", "low"]);
    plan.effects.push(`priority of container ${share.container}: ${share.priority ?? "not known"} to ${priority}`);
    plan.isSlow = share.owner === "Job/render";
    plan.apply = () => { share.priority = priority; };
  },
  cordon: planCordon,
  uncordon: planCordon,
  evict(plan, world, { share }) {
    plan.effects.push(`pod ${share.name} ends`);
    if (share.owner) plan.effects.push(`its controller ${share.owner} starts another one`);
    else plan.warnings.push("the pod has no controller: nothing starts it again");
    if (share.owner?.startsWith("InferenceService/")) {
      plan.refused = { code: "conflict", message: "Cannot evict pod as it would violate the pod's disruption budget." };
    }
    plan.apply = () => {
      for (const each of [...world.shares.values()]) if (each.name === share.name) world.end(each.id);
    };
  },
  notice(plan, _, { share }, { text }) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    if (typeof text !== "string" || !/^[^\u0000-\u001f\u007f-\u009f]{1,500}$/.test(text)) throw usage("text: 1 to 500 characters without control characters");
    plan.effects.push(`an Event of pod ${share.name}: ${text}`);
  },
  queue(plan, world, { queue }, to) {
    if (to.weight !== undefined && !(to.weight >= 1)) throw usage("weight: 1 or more");
    for (const [name, value] of Object.entries(to)) plan.effects.push(`${name} of queue ${queue.name}: ${amountsText(queue[name])} to ${amountsText(value)}`);
    plan.apply = () => { world.queueChanges.set(queue.id, { ...world.queueChanges.get(queue.id), ...to }); };
  },
};

function planCordon(plan, world, { device, node }, _, what) {
  const isCordon = what === "cordon";
  const devices = device ? [device] : world.devices.filter((each) => each.node === node.id);
  const pods = devices.reduce((sum, each) => sum + each.tenants, 0);
  plan.effects.push(`${devices.length} device${devices.length === 1 ? "" : "s"} of ${(device ?? node).node}: ${isCordon ? "no new pods" : "new pods again"}`);
  if (isCordon) plan.warnings.push(`${pods} running pods keep their devices`);
  plan.apply = () => {
    for (const { id } of devices) world.devices.find((each) => each.id === id).state = isCordon ? "cordoned" : "healthy";
    if (node) Object.assign(world.nodeRows.find((each) => each.id === node.id), { state: isCordon ? "cordoned" : "ready", state_reason: isCordon ? "kubectl cordon" : "" });
  };
}

const amountsText = (value) => (Array.isArray(value) ? value.map(({ model, devices_milli: milli, memory_bytes: bytes }) =>
  `${model} ${[milli == null ? "" : `${milli / 1000} devices`, bytes == null ? "" : sizeText(bytes)].filter(Boolean).join(" and ")}`).join(", ") || "nothing" : String(value));
