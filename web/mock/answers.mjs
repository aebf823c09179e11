// Answers of the mock: lists, series, what-if, changes.

const kGiB = 1024 ** 3;
const kAccepted = ["limit", "after", "sort", "filter", "fields", "from", "to"];

export class Refusal extends Error {
  constructor(status, code, message, accepted) {
    super(message);
    Object.assign(this, { status, code, accepted });
  }
}

const textOf = (value) => (value === null || value === undefined ? "" : String(value)).toLowerCase();

// A page of rows as the contract says: filter, sort, limit, after.
export function page(rows, query) {
  for (const word of query.keys()) {
    if (!kAccepted.includes(word)) throw new Refusal(400, "usage", `unknown query word ${word}; use one that is accepted`, kAccepted);
  }
  let found = rows;
  const fields = rows.length ? Object.keys(rows[0]) : null;
  for (const filter of query.getAll("filter")) {
    const exact = /^([a-z_]+)=(.*)$/s.exec(filter);
    if (exact) {
      found = found.filter((row) => row[exact[1]] != null && String(row[exact[1]]) === exact[2]);
      continue;
    }
    const field = /^([a-z_]+):(.*)$/s.exec(filter);
    if (field && fields && !fields.includes(field[1])) throw new Refusal(400, "usage", `unknown field ${field[1]}; use one that is accepted`, fields);
    found = field ? found.filter((row) => textOf(row[field[1]]).includes(field[2].toLowerCase()))
      : found.filter((row) => [row.name, row.id, row.model, row.text, row.node].some((value) => textOf(value).includes(filter.toLowerCase())));
  }
  const from = Number(query.get("from") ?? 0);
  if (from) found = found.filter((row) => row.time_ms >= from);
  found = sorted(found, query.get("sort"), fields);
  const limit = Math.max(1, Math.min(500, Number(query.get("limit") ?? 100)));
  const after = query.get("after");
  const start = after ? Number(Buffer.from(after, "base64url").toString()) : 0;
  const end = start + limit;
  return {
    items: found.slice(start, end), total: found.length,
    next: end < found.length ? Buffer.from(String(end)).toString("base64url") : null,
  };
}

function sorted(rows, sort, fields) {
  if (!sort) return rows;
  const field = sort.replace(/^-/, "");
  if (fields && !fields.includes(field)) throw new Refusal(400, "usage", `unknown sort field ${field}; use one that is accepted`, fields);
  const sign = sort.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [a[field], b[field]];
    if (left == null || right == null) return left == null ? (right == null ? 0 : 1) : -1; // unknown at the end
    return sign * (typeof left === "number" ? left - right : String(left).localeCompare(String(right)));
  });
}

// Curves that depend on the time only, with a gap of ten minutes in each hour's middle.
export function series(query, now) {
  const from = Number(query.get("from") ?? now - 3_600_000);
  const to = Number(query.get("to") ?? now);
  const points = Math.max(2, Math.min(1000, Number(query.get("points") ?? 300)));
  const length = to - from;
  const step = Math.max(5000, Math.ceil(length / points / 5000) * 5000);
  const seed = [...String(query.get("of"))].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1000, 7);
  const t = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) t.push(at);
  const scale = query.get("of") === "overview:all" ? 8 : query.get("of")?.startsWith("share:") ? 0.12 : 1;
  const curve = (what, at, which) => {
    const minute = (at / 60_000) % 60;
    if (minute > 24 && minute < 31) return null; // the agent did not answer
    const wave = 0.5 + 0.28 * Math.sin(at / 900_000 + seed) + 0.1 * Math.sin(at / 97_000 + seed * 2) + (which ? 0.06 : 0);
    if (what.includes("swapped")) return Math.max(0, (wave - 0.55) * 20 * kGiB * scale);
    if (what.includes("limit")) return 72 * kGiB * scale;
    if (what.endsWith("_bytes")) return Math.max(0, wave * 70 * kGiB * scale);
    if (what.endsWith("_permille")) return Math.round(Math.max(0, Math.min(1, wave * (what.includes("throttled") ? 0.3 : 0.95))) * 1000);
    return Math.round(wave * 5);
  };
  return {
    from_ms: from, to_ms: to, tier: step <= 5000 ? "5s" : step <= 60_000 ? "1min" : "5min", t_ms: t,
    series: (query.get("what") ?? "").split(",").filter(Boolean).map((what) => ({
      what, mean: t.map((at) => curve(what, at, 0)), max: t.map((at) => curve(what, at, 1)),
    })),
  };
}

const amount = (text) => {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?$/i.exec(String(text ?? "").trim());
  return match ? Number(match[1]) * { k: 1024, m: 1024 ** 2, g: kGiB, t: 1024 * kGiB }[(match[2] ?? "g")[0].toLowerCase()] : null;
};

export function explain(world, body) {
  const memory = body.memory === undefined ? 0 : amount(body.memory);
  if (memory === null) throw new Refusal(400, "usage", `memory ${body.memory} is no amount; use 16Gi or 512Mi`, ["16Gi", "512Mi"]);
  const gpus = body.gpus ?? 1;
  let given = 0;
  const rows = world.devices.map((device) => {
    const free = device.memory_total_bytes - device.memory_limits_bytes;
    const refusal = device.state !== "healthy" ? `DeviceUnhealthy: ${device.state_reason}`
      : body.model && !device.model.toLowerCase().includes(body.model.toLowerCase()) ? `ModelDiffers: ${device.model}`
        : memory > device.memory_total_bytes ? `TooLarge: has ${device.memory_total_bytes / kGiB} GiB in all`
          : memory > free ? `MemoryShort: ${Math.max(0, free / kGiB).toFixed(0)} GiB free` : "";
    const take = refusal === "" && given < gpus;
    if (take) given += 1;
    return { device: device.index, uuid: device.id, model: device.model, given: take, refusal };
  });
  const fits = given >= gpus;
  const impossible = world.devices.filter((device) => memory <= device.memory_total_bytes).length < gpus;
  const best = Math.max(1, ...world.devices.filter((device) => device.state === "healthy").map((device) => Math.floor((device.memory_total_bytes - device.memory_limits_bytes) / kGiB)));
  return {
    fits, impossible, waiting: world.waiting.length, devices: rows,
    summary: fits ? `${gpus} of ${world.devices.length} devices would be given` : `${given} of ${gpus} devices fit now`,
    fixes: fits ? [] : [`--memory ${best}Gi`, ...(gpus > 1 ? [`--gpus ${Math.max(1, given)}`] : []), "--priority high"],
    victims: fits || impossible ? [] : world.shareRows().filter((share) => share.priority === "low").slice(0, 2)
      .map((share) => ({ id: share.id, name: share.name, priority: share.priority, memory_bytes: share.limit_bytes })),
  };
}

export function change(world, body) {
  const share = world.shares.get(body?.target?.share);
  if (!share) throw new Refusal(404, "not-found", `share ${body?.target?.share} is not there; read the list again`);
  const effects = [];
  const { to = {}, what } = body;
  if (what === "resize") {
    const memory = to.memory === undefined ? share.limit_bytes : amount(to.memory);
    if (memory === null) throw new Refusal(400, "usage", "memory is no amount; use 4Gi", ["4Gi"]);
    if (memory < (share.used_bytes ?? 0)) {
      return { dry_run: body.dry_run, effects: [], refused: { code: "below-used", message: `the share uses ${Math.round((share.used_bytes ?? 0) / kGiB)} GiB; ask for more` } };
    }
    if (memory !== share.limit_bytes) effects.push(`memory limit of ${share.name}: ${share.limit_bytes / kGiB} GiB -> ${memory / kGiB} GiB`);
    if (to.cores !== undefined && to.cores !== share.cores_percent) effects.push(`compute of ${share.name}: ${share.cores_percent} % -> ${to.cores} %`);
    if (!body.dry_run) Object.assign(share, { limit_bytes: memory, cores_percent: to.cores ?? share.cores_percent });
  } else if (what === "priority") {
    effects.push(`priority of ${share.name}: ${share.priority} -> ${to.priority}`);
    if (!body.dry_run) share.priority = to.priority;
  } else {
    throw new Refusal(400, "usage", `unknown change ${what}`, ["resize", "priority"]);
  }
  if (!body.dry_run) world.event("changed", share, effects.join("; ") || "nothing changed");
  return { dry_run: body.dry_run, effects: effects.length ? effects : ["nothing changes"], refused: null };
}
