// The console's API without a cluster and without a device, for development and for the browser tests:
//   node mock/server.mjs [--port 9400] [--out out] [--base /] [--shares 40] [--devices 8] [--changes] [--calm] [--still]
//     [--prices] [--cluster [--nodes 12] [--agentless] [--history] [--login token]]
// --prices: usage has a cost; --calm: no faults, no odd names; --still: nothing changes by itself; --cluster: as in a cluster of --nodes nodes with
// --devices devices each; --agentless: use is not known; --login token: viewers sign in with the tokens of viewers.mjs.
// Used by tests as startMock(options).
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { change, explain, page, Refusal, series } from "./answers.mjs";
import { ClusterWorld } from "./cluster.mjs";
import { changeCluster } from "./cluster_changes.mjs";
import { rightSize, rightSizeCsv } from "./right_size.mjs";
import { usage, usageCsv } from "./usage.mjs";
import { size, sizeNames } from "./size.mjs";
import { kViewers, seenBy, seenExplanation, wholeScope } from "./viewers.mjs";
import { World } from "./world.mjs";

const kRoot = join(dirname(fileURLToPath(import.meta.url)), "..");
const kHeaders = {
  "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'; object-src 'none'",
  "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
};

const kOtherToken = "sign in with a token that the API server accepts (kubectl create token NAME)";

export async function startMock(options = {}) {
  const mock = new Mock({ port: 0, base: "/", out: join(kRoot, "out"), shares: options.cluster ? 130 : 40, devices: 8, nodes: 12, ...options });
  await mock.start();
  return mock;
}

class Mock {
  constructor(options) {
    this.options = options;
    const { shares, devices, nodes, calm, cluster, agentless } = options;
    this.world = cluster ? new ClusterWorld({ shares, devices, nodes, faults: !calm, agents: !agentless }) : new World({ shares, devices, faults: !calm });
    this.topics = ["overview", ...Object.keys(this.world.lists())];
    this.sessions = new Map();
    this.tokens = new Set();
    this.streams = new Set();
    this.counter = 0;
    this.epoch = randomBytes(4).toString("hex");
    this.requests = [];
    this.noStream = false;
    this.noAnswer = false;
    this.holds = false; // requests of data wait without an end; the stream and sign-in go on
    this.dataDelayMs = 0;
    this.viewers = new Map(Object.entries(kViewers)); // by token
    this.noSignIn = null; // a Refusal of each sign-in
    this.noUsage = null; // a Refusal of each request of usage
    this.changes = []; // bodies of requests of changes
    this.noChange = null; // a Refusal of each change
    this.noChangeAnswer = false; // changes are made without an answer
    this.noRightSize = null; // a Refusal of each request of advice
  }

  async start() {
    this.manifest = JSON.parse(await readFile(join(this.options.out, "manifest.json"), "utf8"));
    this.server = createServer((request, response) => void this.answer(request, response));
    await new Promise((done) => this.server.listen(this.options.port, "127.0.0.1", done));
    this.origin = `http://127.0.0.1:${this.server.address().port}`;
    this.url = this.origin + this.options.base;
    if (!this.options.still) this.timer = setInterval(() => this.tick(), 1000);
    this.beat = setInterval(() => {
      for (const stream of this.streams) stream.response.write(": alive\n\n");
    }, 15_000);
  }

  async stop() {
    clearInterval(this.timer);
    clearInterval(this.beat);
    for (const stream of this.streams) stream.response.destroy();
    this.server.closeAllConnections?.();
    await new Promise((done) => this.server.close(done));
  }

  // A one-time link, as `divvy console` prints it.
  link() {
    const token = randomBytes(16).toString("hex");
    this.tokens.add(token);
    return `${this.url}#token=${token}`;
  }

  // Ends all sessions; open streams are told the reason.
  endSessions(reason) {
    this.sessions.clear();
    for (const stream of [...this.streams]) {
      stream.response.write(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
      stream.response.end();
    }
  }

  // Ends all sessions without a word: the next request is refused.
  expireSessions() {
    this.sessions.clear();
  }

  tick() {
    const { shares, dropped, events } = this.world.tick();
    if (this.world.requested?.length && this.counter % 8 === 0) this.settle();
    const rows = this.world.shareRows();
    this.publish("shares", rows.filter((row) => shares.has(row.id)), dropped);
    this.publish("devices", this.world.devices);
    this.publish("overview", [this.world.overview()]);
    if (events.length) this.publish("events", events);
  }

  // What was requested is carried out, and all rows are told.
  settle() {
    this.world.settle();
    this.publishAll();
  }

  publishAll() {
    for (const [topic, rows] of Object.entries(this.world.lists())) this.publish(topic, rows());
  }

  endShare(id) {
    this.world.end(id);
    this.publish("shares", [], [id]);
  }

  publish(topic, put, drop = []) {
    this.counter += 1;
    const data = JSON.stringify({ topic, data_time_ms: this.dataTime(), put, drop });
    for (const stream of this.streams) {
      if (stream.topics.includes(topic) && stream.whole) stream.response.write(`id: ${this.epoch}-${this.counter}\nevent: delta\ndata: ${data}\n\n`);
    }
  }

  dataTime() {
    return Date.now() - this.dataDelayMs;
  }

  async answer(request, response) {
    const url = new URL(request.url, this.origin);
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    for (const [name, value] of Object.entries(kHeaders)) response.setHeader(name, value);
    try {
      if (this.noAnswer) return void request.socket.destroy();
      if (!url.pathname.startsWith(this.options.base)) throw new Refusal(404, "not-found", "no such path");
      const path = url.pathname.slice(this.options.base.length);
      if (path.startsWith("api/v1/")) return await this.api(path.slice(7), url.searchParams, request, response);
      return await this.file(path, request, response);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, "internal", String(error));
      const { code, message, accepted } = refusal;
      this.json(response, refusal.status, { error: { code, message, ...(accepted ? { accepted } : {}) } });
    }
  }

  json(response, status, value) {
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store" });
    response.end(JSON.stringify(value));
  }

  async file(path, request, response) {
    const known = this.manifest.files.find((file) => file.path === path && path !== "index.html");
    if (!known && path.startsWith("assets/")) throw new Refusal(404, "not-found", "no such file");
    const file = known ?? this.manifest.files.find((each) => each.path === this.manifest.index);
    const gzip = file.immutable && /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    let bytes = await readFile(join(this.options.out, file.encodings[gzip ? "gzip" : "identity"].file));
    if (!known) bytes = Buffer.from(String(bytes).replace(this.manifest.base, `<base href="${this.options.base}">`));
    response.writeHead(200, {
      "Content-Type": file.content_type, "Cache-Control": file.immutable ? "public, max-age=31536000, immutable" : "no-cache",
      ...(gzip ? { "Content-Encoding": "gzip" } : {}),
    });
    response.end(bytes);
  }

  async api(path, query, request, response) {
    const body = request.method === "POST" ? JSON.parse((await bodyOf(request)) || "{}") : null;
    if (path === "session" && request.method === "POST") return this.openSession(body, response);
    if (this.holds && !["login", "session", "stream"].includes(path)) return;
    if (path === "login") return this.json(response, 200, this.loginAnswer());
    const session = this.sessionOf(request);
    if (!session) {
      throw new Refusal(401, "unauthenticated", this.byToken() ? "the token is no longer accepted; sign in again"
        : "no session, or it ended; run divvy console --local and open its link");
    }
    if (request.method !== "GET" && request.headers["x-divvy-csrf"] !== session.csrf) throw new Refusal(403, "forbidden", "no CSRF header");
    if (path === "session" && request.method === "DELETE") {
      this.sessions.delete(session.id);
      return void response.writeHead(204).end();
    }
    if (path === "stream") return this.stream(query, response, session);
    if (["usage.csv", "rightsize.csv"].includes(path)) {
      const report = this.read(path.slice(0, -4), query, body, session);
      response.writeHead(200, { "Content-Type": "text/csv; charset=utf-8", "Content-Disposition": `attachment; filename="${path}"` });
      return void response.end(path === "usage.csv" ? usageCsv(report) : rightSizeCsv(report));
    }
    const before = path === "changes" && new Set(this.world.shares.keys());
    const answer = this.read(path, query, body, session);
    if (before && body.dry_run === false && this.options.cluster) {
      this.publishAll();
      this.publish("shares", [], [...before].filter((id) => !this.world.shares.has(id)));
      if (this.noChangeAnswer) return void request.socket.destroy();
    }
    this.json(response, 200, answer);
  }

  read(path, query, body, session) {
    const head = { server_time_ms: Date.now(), data_time_ms: this.dataTime(), sources: this.world.sources };
    const [kind, ...rest] = path.split("/");
    const id = rest.map(decodeURIComponent).join("/");
    if (path === "plan" && session.viewer && !session.viewer.api) {
      throw new Refusal(403, "forbidden", "a console token makes no plans; sign in with an API token");
    }
    const scope = session.viewer?.scope ?? wholeScope;
    const world = seenBy(this.world, scope);
    const own = world.answer(path, body);
    if (own) return { ...head, ...(own.explanation && !scope.everything ? { explanation: seenExplanation(own.explanation) } : own) };
    const lists = world.lists();
    if (lists[kind] && !id) return { ...head, ...page(lists[kind](), query) };
    if (lists[kind]) {
      const item = lists[kind]().find((row) => row.id === id);
      if (!item) throw new Refusal(404, "not-found", `${kind.slice(0, -1)} ${id} is not there (any more); see the list of ${kind}`);
      return { ...head, item };
    }
    switch (path) {
      case "session":
        return this.sessionAnswer(session);
      case "overview":
        return { ...head, ...world.overview() };
      case "series":
        return { ...head, ...series(query, Date.now()) };
      case "usage":
        if (this.noUsage) throw this.noUsage;
        return { ...head, ...usage(world, query, { ...this.options, sees: scope.everything }, Date.now()) };
      case "rightsize":
        if (this.noRightSize) throw this.noRightSize;
        return { ...head, ...rightSize(world, query, this.options, Date.now()) };
      case "size":
        return { ...head, ...size(query) };
      case "size/names":
        return { ...head, ...sizeNames() };
      case "explain":
        return explain(this.world, body);
      case "changes":
        return this.change(world, body, session);
      case "about":
        return this.about();
      default:
        throw new Refusal(404, "not-found", `no such endpoint: ${path}`);
    }
  }

  change(view, body, session) {
    const { change: may } = this.sessionAnswer(session).can;
    if (!this.options.changes) throw new Refusal(403, "forbidden", "changes are off; start the console with --allow-changes");
    if (!may) throw new Refusal(403, "forbidden", kOtherToken);
    this.changes.push(body);
    if (this.noChange) throw this.noChange;
    if (!this.options.cluster) return change(this.world, body);
    return changeCluster(this.world, view, body, { user: session.viewer?.user ?? "ana", viewer: session.viewer });
  }

  byToken() {
    return this.options.login === "token";
  }

  loginAnswer() {
    return {
      server_time_ms: Date.now(),
      ...(this.byToken() ? { login: "token", cluster: "prod-eu", command: "kubectl create token NAME --audience divvy-console" } : { login: "link" }),
    };
  }

  openSession(body, response) {
    if (this.noSignIn) throw this.noSignIn;
    const viewer = this.byToken() ? this.viewers.get(body.token) : undefined;
    if (this.byToken() && !viewer) {
      throw new Refusal(401, "unauthenticated", "the cluster does not accept this token, or it has expired; make one with: kubectl create token NAME --audience divvy-console");
    }
    if (!viewer && !this.tokens.delete(body.token)) {
      throw new Refusal(401, "unauthenticated", "this link is wrong or was used already; run divvy console --local to get another one");
    }
    const session = { id: randomBytes(16).toString("hex"), csrf: randomBytes(16).toString("hex"), viewer };
    this.sessions.set(session.id, session);
    response.setHeader("Set-Cookie", `divvy_session=${session.id}; HttpOnly; SameSite=Strict; Path=${this.options.base}`);
    this.json(response, 200, this.sessionAnswer(session));
  }

  sessionOf(request) {
    const id = /(?:^|;\s*)divvy_session=([0-9a-f]+)/.exec(request.headers.cookie ?? "")?.[1];
    return id ? this.sessions.get(id) : undefined;
  }

  sessionAnswer(session) {
    const { changes = false, cluster = false } = this.options;
    const { viewer } = session;
    return {
      user: viewer?.user ?? "ana", mode: cluster ? "cluster" : "local",
      way_in: !viewer ? "one-time-link" : viewer.api ? "api-token" : "console-token", server_time_ms: Date.now(), csrf: session.csrf, version: "0.9.0",
      node: cluster ? "prod-eu" : "studio",
      can: { change: changes && (viewer?.api ?? true), plan: viewer ? viewer.api : true }, scope: viewer?.scope ?? wholeScope,
      changes: { enabled: changes, how: changes ? kOtherToken : "start the console with --allow-changes" },
      history: { state: cluster && !this.options.history ? "off" : "ok", message: "", from_ms: this.world.started, to_ms: Date.now() }, poll_ms: 1000, base_path: this.options.base,
    };
  }

  stream(query, response, session) {
    if (this.noStream) throw new Refusal(503, "unavailable", "64 streams are open; close another tab");
    const topics = (query.get("topics") ?? "").split(",");
    const unknown = topics.find((topic) => !this.topics.includes(topic));
    if (unknown !== undefined) throw new Refusal(400, "usage", `unknown topic ${unknown}`, this.topics);
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
    response.write(": hello\n\n");
    const since = query.get("since");
    if (since && !since.startsWith(this.epoch)) {
      for (const topic of topics) response.write(`event: resync\ndata: ${JSON.stringify({ topic })}\n\n`);
    }
    const stream = { response, topics, whole: session.viewer?.scope.everything ?? true }; // others hear nothing and read again
    this.streams.add(stream);
    response.on("close", () => this.streams.delete(stream));
  }

  about() {
    return {
      version: "0.9.0", commit: "4fea2dd74fea2dd74fea2dd7", configuration: [{ name: "listen", value: "127.0.0.1:9400" }, { name: "allow-changes", value: String(Boolean(this.options.changes)) }, { name: "history", value: null }],
      health: { loop_late_ms: 1, streams: this.streams.size, sessions: this.sessions.size, history: { state: "ok", bytes: 18e6, limit_bytes: 512 * 2 ** 20, series: 288, from_ms: this.world.started, dropped_points: 0 } },
    };
  }
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

function optionsOf(words) {
  const options = { port: 9400 };
  const rest = [...words];
  while (rest.length > 0) {
    const name = rest.shift().replace(/^--/, "");
    if (["changes", "calm", "still", "cluster", "agentless", "history", "prices"].includes(name)) options[name] = true;
    else options[name] = ["port", "shares", "devices", "nodes"].includes(name) ? Number(rest.shift()) : rest.shift();
  }
  if (options.out) options.out = resolve(options.out);
  return options;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startMock(optionsOf(process.argv.slice(2)));
  console.log(mock.byToken() ? `open ${mock.url}; tokens: ${[...mock.viewers.keys()].join(" ")}` : `open ${mock.link()}`);
}
