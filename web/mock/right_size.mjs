// Advice of the mock for the size of shares. It depends on the shares only.
import { Refusal } from "./answers.mjs";

const kGiB = 1024 ** 3;
const kStep = 256 * 1024 ** 2;
const kDay = 86_400_000;
const kDeviceBytes = 80 * kGiB;
const kMicroPerDay = 2.9 * 24 * 1e6; // of a device
const kText = ["key", "namespace", "owner", "container", "team", "queue"];

function wordsOf(query, cluster) {
  const accepted = cluster ? ["days", "namespace"] : ["days"];
  for (const word of query.keys()) if (!accepted.includes(word)) throw new Refusal(400, "usage", `unknown query word ${word}`, accepted);
  const days = Number(query.get("days") ?? 14);
  if (!Number.isInteger(days) || days < 1 || days > 400) throw new Refusal(400, "usage", "days: accepted is 1 to 400");
  return { days, namespace: query.get("namespace") };
}

function stateOf(share, seenDays) {
  if (share.used_bytes == null) return "unknown";
  if (/vllm|sglang/.test(share.image ?? "") || share.name === "llama-serve-11") return "reserves";
  return seenDays < 3 ? "too-early" : "";
}

function item(key, shares, cluster, priced) {
  const [share] = shares;
  const number = [...key].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  const seenDays = number % 11 === 0 ? 2 : Math.min(14, 3 + (number % 12));
  const peak = share.used_bytes == null ? null : Math.round(share.limit_bytes * (0.15 + (number % 8) / 10));
  const busy = share.usage_permille == null ? null : (number % 60) / 2;
  const early = stateOf(share, seenDays);
  const wanted = peak === null ? null : Math.max(2 * kStep, Math.ceil((peak * 1.1) / kStep) * kStep);
  const bytes = !early && wanted !== null && wanted <= 0.9 * share.limit_bytes ? wanted : null;
  const few = busy === null ? null : Math.max(5, Math.ceil(busy * 1.15));
  const cores = ["", "reserves"].includes(early) && few !== null && few <= 0.9 * share.cores_percent ? few : null;
  const saving = bytes === null ? null : (share.limit_bytes - bytes) * shares.length;
  const idle = shares.some((each) => each.idle_ms == null) ? null : Math.min(...shares.map((each) => each.idle_ms));
  return {
    key, namespace: cluster ? share.namespace : "", owner: cluster ? share.owner : "", container: cluster ? share.container : "",
    team: cluster ? share.team ?? "" : "", queue: cluster ? share.queue ?? "" : "", shares: shares.length,
    seen_hours: seenDays * 23.5 * shares.length, seen_days: seenDays, limit_bytes: share.limit_bytes, peak_bytes: peak, advised_bytes: bytes,
    saving_bytes: saving, cores_percent: share.cores_percent || null, busy_percent: busy, advised_cores: cores,
    // Some workloads have been idle for hours.
    idle_ms: idle !== null && number % 4 === 1 ? 7_200_000 + number * 1000 : idle,
    state: early || (bytes !== null || cores !== null ? "advice" : "fits"),
    idle_micro_per_day: priced ? Math.round(((saving ?? 0) / kDeviceBytes) * kMicroPerDay) : null,
  };
}

// The answer of GET rightsize.
export function rightSize(world, query, { cluster = false, prices = false }, now) {
  const { days, namespace } = wordsOf(query, cluster);
  const groups = new Map();
  for (const share of world.shareRows()) {
    if (share.state !== "running" || (namespace && share.namespace !== namespace)) continue;
    const key = cluster ? `${share.namespace}/${share.owner}/${share.container}` : share.name || share.id;
    groups.set(key, [...(groups.get(key) ?? []), share]);
  }
  const items = [...groups].map(([key, shares]) => item(key, shares, cluster, prices))
    .sort((a, b) => (b.saving_bytes ?? 0) - (a.saving_bytes ?? 0) || (a.key < b.key ? -1 : 1));
  const sum = (member) => items.reduce((total, each) => total + (each[member] ?? 0), 0);
  const saving = sum("saving_bytes");
  return {
    days, from_ms: now - days * kDay, to_ms: now, currency: prices ? "EUR" : null, items,
    total: {
      saving_bytes: saving, saving_devices: Math.round((saving / kDeviceBytes) * 100) / 100,
      idle_micro_per_day: prices ? sum("idle_micro_per_day") : null,
    },
  };
}

export function rightSizeCsv({ items, currency }) {
  const members = Object.keys(items[0] ?? Object.fromEntries(kText.map((name) => [name, ""])));
  const field = (value) => (typeof value === "string" ? `"${value.replaceAll('"', '""')}"` : value ?? "");
  return [[...members, "currency"], ...items.map((each) => [...members.map((member) => field(each[member])), currency ?? ""])]
    .map((cells) => `${cells.join(",")}\r\n`).join("");
}
