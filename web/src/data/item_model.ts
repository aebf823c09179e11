// One object of the API (a device, a share), or one answer (overview), kept up to date.
import { signal } from "@preact/signals";
import { type Delta, isRow } from "../core/delta";
import { type ApiFailure, apiGet, failureFrom, isAborted } from "./api";
import { serverNow, setServerTime } from "./clock";
import { listen } from "./live";
import type { AnswerHead, SourceState } from "./types";

export type ItemState = "loading" | "ready" | "gone" | "failed";

const kMinReadMs = 2000;

export class ItemModel<T> {
  readonly item = signal<T | null>(null);
  readonly state = signal<ItemState>("loading");
  readonly failure = signal<ApiFailure | null>(null);
  readonly dataTime = signal<number | null>(null);
  readonly sources = signal<SourceState[]>([]);
  readonly goneAt = signal<number | null>(null);

  private abort: AbortController | null = null;
  private timer = 0;
  private lastRead = 0;
  private readonly stop: () => void;

  // `id` is null for an answer without an ID: then any put of the topic replaces it.
  constructor(topic: string, private readonly path: string, private readonly id: string | null) {
    this.stop = listen({
      topic,
      onDelta: (delta) => this.onDelta(delta),
      onResync: () => this.readSoon(),
    });
    void this.read();
  }

  dispose(): void {
    this.stop();
    this.abort?.abort();
    clearTimeout(this.timer);
  }

  refresh(): void {
    void this.read();
  }

  private async read(): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.lastRead = serverNow();
    try {
      const answer = await apiGet<AnswerHead & { item?: T }>(this.path, undefined, abort.signal);
      setServerTime(answer.server_time_ms);
      this.dataTime.value = answer.data_time_ms ?? null;
      this.sources.value = answer.sources ?? [];
      this.item.value = this.id === null ? (answer as unknown as T) : (answer.item ?? null);
      this.state.value = "ready";
      this.failure.value = null;
      this.goneAt.value = null;
    } catch (error) {
      if (isAborted(error) || abort.signal.aborted) return;
      this.fail(failureFrom(error));
    } finally {
      if (this.abort === abort) this.abort = null;
    }
  }

  private fail(failure: ApiFailure): void {
    this.failure.value = failure;
    if (failure.status === 404) this.markGone();
    else if (this.item.value === null) this.state.value = "failed";
  }

  private markGone(): void {
    if (this.item.value === null) {
      this.state.value = "failed";
    } else if (this.state.value !== "gone") {
      this.state.value = "gone";
      this.goneAt.value = serverNow();
    }
  }

  private onDelta(delta: Delta): void {
    if (delta.data_time_ms) this.dataTime.value = delta.data_time_ms;
    if (this.id === null) {
      const value = delta.put?.[0];
      if (value && this.item.value) this.item.value = { ...this.item.value, ...(value as T) };
      return;
    }
    if (delta.drop?.includes(this.id)) {
      this.markGone();
      this.readSoon(); // the server's message says since when
      return;
    }
    const row = delta.put?.find((value) => isRow(value) && value.id === this.id);
    if (!row) return;
    if (this.state.value === "gone" || !this.item.value) {
      this.readSoon();
      return;
    }
    // A row of the stream may have fewer members than the object; the others are read.
    if (Object.keys(this.item.value).some((name) => !(name in (row as object)))) this.readSoon();
    this.item.value = { ...this.item.value, ...(row as T) };
  }

  private readSoon(): void {
    if (this.timer || this.state.value === "loading") return;
    const wait = Math.max(500, kMinReadMs - (serverNow() - this.lastRead));
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      // A slow answer is waited for: to begin again each time would never end.
      if (this.abort) this.readSoon();
      else void this.read();
    }, wait);
  }
}
