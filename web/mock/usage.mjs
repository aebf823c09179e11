// Usage and cost of the mock: sums of hours that depend on the shares and on the time only.
import { Refusal } from "./answers.mjs";

const kHour = 3_600_000;
const kDeviceBytes = 80 * 1024 ** 3;
const kSteps = { all: Number.POSITIVE_INFINITY, day: 24 * kHour, hour: kHour };
const kKeys = {
  share: (share) => share.id, device: (_, device) => device.id, model: (_, device) => device.model, namespace: (share) => share.namespace,
  team: (share) => share.team, queue: (share) => share.queue, owner: (share) => `${share.namespace}/${share.owner}`,
};
const kLocalKeys = ["share", "device", "model"];
const kWords = ["by", "from", "to", "step"];
const kPrices = [["H100", 2.9], ["A100", 1.4]]; // of a device hour; L40S has none
const kAmounts = ["allocated_device_hours", "device_hours", "idle_device_hours", "memory_byte_hours", "throttled_ms", "charged_micro", "used_micro", "idle_micro"];

const priceOf = (model) => kPrices.find(([name]) => model.includes(name))?.[1] ?? 0;
// Of what is known; null if nothing is.
const sum = (rows, of) => rows.reduce((total, row) => (of(row) == null ? total : (total ?? 0) + of(row)), rows.length ? null : 0);

// Less is used at night and at weekends. A share of the mock runs in all hours.
function busyAt(hour) {
  const date = new Date(hour);
  return (date.getUTCDay() % 6 === 0 ? 0.35 : 0.9) * (date.getUTCHours() < 7 ? 0.4 : 1);
}

function choices(query, cluster, now) {
  const { by = "share", step = "all" } = Object.fromEntries(query);
  const accepted = cluster ? Object.keys(kKeys) : kLocalKeys;
  for (const word of query.keys()) if (!kWords.includes(word)) throw new Refusal(400, "usage", `unknown query word ${word}`, kWords);
  if (!accepted.includes(by)) throw new Refusal(400, "usage", `usage by ${by} is not accepted; use one that is`, accepted);
  if (!kSteps[step]) throw new Refusal(400, "usage", `step ${step} is not accepted; use one that is`, Object.keys(kSteps));
  const from = Math.floor(Number(query.get("from") ?? now - 24 * kHour) / kHour) * kHour;
  return { by, step, from, to: Number(query.get("to") ?? now) };
}

// The larger part of memory and compute.
const promised = (device) => Math.min(1, Math.max((device.limit_bytes ?? 0) / kDeviceBytes, (device.cores_percent ?? 0) / 100));

// What one share had of one device in an hour. `scale` is below 1 where the device was promised more than once.
function hourOf(share, device, { busy, scale, priced }) {
  const allocated = promised(device) * scale;
  const used = device.usage_permille == null ? null : Math.min(allocated, (device.usage_permille / 1000) * busy);
  const micro = (hours) => (priced && hours !== null ? Math.round(hours * priceOf(device.model) * 1e6) : null);
  return {
    allocated_device_hours: allocated, device_hours: used, idle_device_hours: used === null ? null : allocated - used,
    memory_byte_hours: device.limit_bytes ?? 0, throttled_ms: share.throttled_permille ?? 0,
    charged_micro: micro(allocated), used_micro: micro(used), idle_micro: used === null ? null : micro(allocated - used),
  };
}

// The answer of GET usage. `sees` says whether the viewer sees all devices and pods.
export function usage(world, query, { cluster = false, prices = false, sees = true }, now) {
  const { by, step, from, to } = choices(query, cluster, now);
  const shares = world.shareRows();
  const promises = new Map();
  for (const { id, ...device } of shares.flatMap((share) => share.devices)) promises.set(id, (promises.get(id) ?? 0) + promised(device));
  const rows = new Map();
  const all = [];
  for (let start = from; start < to; start += kHour) {
    const at = step === "all" ? 0 : Math.floor(start / kSteps[step]) * kSteps[step];
    for (const share of shares) {
      for (const device of share.devices) {
        const key = kKeys[by](share, device) ?? "";
        const name = by === "share" ? share.name : by === "device" ? device.model : key;
        const row = rows.get(`${at} ${key}`) ?? { key, name, ...(at ? { start_ms: at } : {}), hours: [] };
        rows.set(`${at} ${key}`, row);
        const hour = hourOf(share, device, { busy: busyAt(start), scale: Math.min(1, 1 / promises.get(device.id)), priced: prices });
        row.hours.push(hour);
        all.push(hour);
      }
    }
  }
  const amounts = (hours) => Object.fromEntries(kAmounts.map((member) => [member, sum(hours, (hour) => hour[member])]));
  const items = [...rows.values()].map(({ hours, ...row }) => ({ ...row, ...amounts(hours) }))
    .sort((a, b) => b.allocated_device_hours - a.allocated_device_hours || a.key.localeCompare(b.key) || a.start_ms - b.start_ms);
  const total = amounts(all);
  const length = Math.ceil((to - from) / kHour);
  const capacity = sees ? world.devices.length * length : null;
  const price = sees && prices ? sum(world.devices, (device) => priceOf(device.model)) * length * 1e6 : null;
  const rest = (whole, part) => (whole === null ? null : whole - part);
  return {
    by, step, from_ms: from, to_ms: to, currency: prices ? "EUR" : null, items,
    total: {
      ...total, capacity_device_hours: capacity, unallocated_device_hours: rest(capacity, total.allocated_device_hours),
      price_micro: price, unallocated_micro: rest(price, total.charged_micro),
    },
    unpriced_models: prices ? [...new Set(world.devices.map(({ model }) => model))].filter((model) => !priceOf(model)) : [],
  };
}

export function usageCsv({ items }) {
  const members = ["key", "name", ...(items[0]?.start_ms ? ["start_ms"] : []), ...kAmounts];
  return [members, ...items.map((item) => members.map((member) => item[member] ?? ""))].map((cells) => `${cells.join(",")}\r\n`).join("");
}
