// Live updates: one stream per browser. The tab that holds a Web Lock opens it and passes events on by
// BroadcastChannel. Without these two, or while the stream cannot be opened, lists are read every 5 s.
import { signal } from "@preact/signals";
import { type Delta, parseStreamEvent } from "../core/delta";
import { type Connection, type TabMessage, TabWants } from "../core/tabs";
import { ApiFailure, apiGet, apiUrl } from "./api";

export interface LiveListener {
  topic: string;
  onDelta(delta: Delta): void;
  onResync(): void; // read again: events may have been missed
}

export const connection = signal<Connection>("connecting");

const kPollMs = 5000;
const kRetryMs = 5000;
const kRepeatWantsMs = 30_000;

const tab = Math.random().toString(36).slice(2);
const listeners = new Set<LiveListener>();
const wants = new TabWants();
let channel: BroadcastChannel | null = null;
let source: EventSource | null = null;
let sourceTopics = "";
let lastId = "";
let elected = false;
let ended = false;
let retryTimer = 0;
let openTimer = 0;
let endSession: (reason: string) => void = () => {};

export function listen(listener: LiveListener): () => void {
  listeners.add(listener);
  announce();
  return () => {
    listeners.delete(listener);
    announce();
  };
}

export function startLive(onEnd: (reason: string) => void): void {
  endSession = onEnd;
  ended = false;
  setInterval(poll, kPollMs);
  if (!("locks" in navigator) || typeof BroadcastChannel === "undefined" || typeof EventSource === "undefined") {
    connection.value = "polling";
    return;
  }
  const name = `divvy-console:${new URL(document.baseURI).pathname}`;
  channel = new BroadcastChannel(name);
  channel.onmessage = (event: MessageEvent<TabMessage>) => receive(event.data);
  addEventListener("pagehide", () => send({ kind: "bye", tab }));
  addEventListener("pageshow", () => announce());
  setInterval(announce, kRepeatWantsMs);
  // Held until this tab goes; then the browser gives it to the next tab.
  void navigator.locks.request(name, () => {
    elected = true;
    send({ kind: "elected" });
    announce();
    return new Promise(() => {});
  });
  announce();
}

// Ends the stream of this browser; the other tabs are told the reason.
export function stopLive(reason: string): void {
  if (ended) return;
  ended = true;
  close();
  send({ kind: "event", name: "end", data: JSON.stringify({ reason }) });
}

function poll(): void {
  if (connection.value === "polling" && !ended && !document.hidden) readAgain();
}

export function readAgain(): void {
  for (const listener of [...listeners]) listener.onResync();
}

function topicsHere(): string[] {
  return [...new Set([...listeners].map((listener) => listener.topic))];
}

function announce(): void {
  if (elected) {
    wants.set(tab, topicsHere(), Date.now());
    scheduleOpen();
  } else {
    send({ kind: "want", tab, topics: topicsHere() });
  }
}

function send(message: TabMessage): void {
  channel?.postMessage(message);
}

function receive(message: TabMessage): void {
  switch (message.kind) {
    case "want":
      if (!elected) return;
      wants.set(message.tab, message.topics, Date.now());
      send({ kind: "connection", state: connection.value });
      scheduleOpen();
      return;
    case "bye":
      wants.remove(message.tab);
      return;
    case "elected":
      announce();
      return;
    case "opened":
      readAgain();
      return;
    case "connection":
      if (!elected) connection.value = message.state;
      return;
    case "event":
      handle(message.name, message.data);
  }
}

function setConnection(state: Connection): void {
  if (connection.value === state) return;
  connection.value = state;
  send({ kind: "connection", state });
}

// A change of page removes and adds topics within one task; the stream is opened once for all of it.
function scheduleOpen(): void {
  clearTimeout(openTimer);
  openTimer = window.setTimeout(open, 50);
}

function open(): void {
  if (!elected || ended) return;
  const topics = wants.topics(Date.now()).join(",");
  if (topics === sourceTopics && source && source.readyState !== EventSource.CLOSED) return;
  close();
  sourceTopics = topics;
  if (topics === "") return;
  const params = new URLSearchParams({ topics });
  if (lastId) params.set("since", lastId);
  const stream = new EventSource(apiUrl("stream", params));
  source = stream;
  let wasOpen = false;
  stream.onopen = () => {
    setConnection("live");
    if (wasOpen) return;
    wasOpen = true;
    readAgain(); // what happened between the reading of a list and this moment is not in the stream
    send({ kind: "opened" });
  };
  stream.onerror = () => void onError(stream);
  for (const name of ["delta", "resync", "end"]) {
    stream.addEventListener(name, (event) => {
      const { data, lastEventId } = event as MessageEvent<string>;
      if (lastEventId) lastId = lastEventId;
      setConnection("live");
      send({ kind: "event", name, data });
      handle(name, data);
    });
  }
}

async function onError(stream: EventSource): Promise<void> {
  if (stream !== source || ended) return;
  if (stream.readyState !== EventSource.CLOSED) {
    setConnection("polling"); // the browser connects again by itself
    return;
  }
  close();
  setConnection("polling");
  try {
    await apiGet("session"); // a 401 ends the session with the server's reason
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 401) return;
    setConnection("lost");
    setTimeout(() => connection.value === "lost" && setConnection("polling"), kPollMs);
  }
  clearTimeout(retryTimer);
  retryTimer = window.setTimeout(open, kRetryMs);
}

function close(): void {
  source?.close();
  source = null;
  sourceTopics = "";
}

function handle(name: string, data: string): void {
  const message = parseStreamEvent(name, data);
  if (!message) return;
  if (message.kind === "end") {
    if (ended) return;
    ended = true;
    close();
    endSession(message.reason);
    return;
  }
  const topic = message.kind === "delta" ? message.delta.topic : message.topic;
  for (const listener of [...listeners]) {
    if (listener.topic !== topic) continue;
    if (message.kind === "delta") listener.onDelta(message.delta);
    else listener.onResync();
  }
}
