// One list of the API, paged, kept up to date by the stream. A page creates one and disposes of it.
import { signal } from "@preact/signals";
import { applyDelta, type Delta, type Row } from "../core/delta";
import { type ListQuery, listParams } from "../core/list_query";
import { type ApiFailure, apiGet, failureFrom, isAborted } from "./api";
import { serverNow, setServerTime } from "./clock";
import { listen } from "./live";
import type { ListAnswer, SourceState } from "./types";

export type LoadState = "loading" | "ready" | "failed";

const kPageSize = 200;
const kMinRelistMs = 3000;
const kPartialRelistMs = 30_000; // where unknown rows are likely on pages that were not read
const kRelistPerPageMs = 1000;

export class ListModel<T extends Row> {
  readonly rows = signal<T[]>([]);
  readonly total = signal(0);
  readonly state = signal<LoadState>("loading");
  readonly failure = signal<ApiFailure | null>(null);
  readonly dataTime = signal<number | null>(null);
  readonly sources = signal<SourceState[]>([]);
  readonly paused = signal(false); // new rows are counted in `pending` and not shown
  readonly pending = signal(0);

  private query: Partial<ListQuery> = {};
  private next: string | null = null;
  private abort: AbortController | null = null;
  private wanted = 0;
  private lastRead = 0;
  private relistTimer = 0;
  private readonly stop: () => void;

  // `fields`: members of the rows that are read, with commas; empty: all. The stream sends whole rows.
  constructor(private readonly kind: string, private readonly pageSize = kPageSize, private readonly fields = "") {
    this.stop = listen({
      topic: kind,
      onDelta: (delta) => this.onDelta(delta),
      onResync: () => this.relistSoon(),
    });
  }

  dispose(): void {
    this.stop();
    this.abort?.abort();
    clearTimeout(this.relistTimer);
  }

  // Reads from the start. The old rows stay until the answer is there.
  setQuery(query: Partial<ListQuery>): void {
    this.query = query;
    this.wanted = 0;
    if (this.state.value === "failed") this.state.value = "loading";
    void this.read(false);
  }

  refresh(): void {
    void this.read(false);
  }

  // Reads on until `count` rows are here. Called by the table as it scrolls.
  want(count: number): void {
    this.wanted = Math.max(this.wanted, Math.min(count, this.total.value));
    if (!this.abort && this.next && this.rows.value.length < this.wanted) void this.read(true);
  }

  private async read(more: boolean): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    clearTimeout(this.relistTimer);
    this.relistTimer = 0;
    if (!more) {
      this.lastRead = serverNow();
      this.pending.value = 0;
    }
    try {
      let rows = more ? this.rows.value : [];
      let after = more ? this.next : null;
      const target = more ? this.wanted : Math.max(this.wanted, this.rows.value.length);
      do {
        const answer = await this.page(after, target - rows.length, abort.signal);
        rows = after ? joinRows(rows, answer.items) : answer.items;
        after = answer.next ?? null;
        this.take(answer, after);
        if (more) this.rows.value = rows;
      } while (after && rows.length < Math.max(target, this.wanted));
      this.rows.value = rows;
      this.state.value = "ready";
      this.failure.value = null;
    } catch (error) {
      if (isAborted(error) || abort.signal.aborted) return;
      this.failure.value = failureFrom(error);
      if (this.state.value === "loading" || this.failure.value.status === 400) this.state.value = "failed";
    } finally {
      if (this.abort === abort) this.abort = null;
    }
  }

  private page(after: string | null, missing: number, stop: AbortSignal): Promise<ListAnswer<T>> {
    const params = listParams(this.query);
    params.set("limit", String(Math.min(500, Math.max(this.pageSize, missing))));
    if (this.fields) params.set("fields", this.fields);
    if (after) params.set("after", after);
    return apiGet<ListAnswer<T>>(this.kind, params, stop);
  }

  private take(answer: ListAnswer<T>, next: string | null): void {
    setServerTime(answer.server_time_ms);
    this.next = next;
    this.total.value = answer.total ?? answer.items.length;
    this.dataTime.value = answer.data_time_ms ?? null;
    this.sources.value = answer.sources ?? [];
  }

  private onDelta(delta: Delta): void {
    if (delta.data_time_ms) this.dataTime.value = delta.data_time_ms;
    if (this.state.value !== "ready") return;
    const result = applyDelta(this.rows.value, delta);
    if (result.changed) this.rows.value = result.rows;
    this.total.value = Math.max(0, this.total.value - result.dropped);
    // A row that is not here may be new, or on a page that was not read: the server decides.
    if (result.unknown > 0 && this.paused.value) this.pending.value += result.unknown;
    else if (result.unknown > 0) this.relistSoon(this.next ? kPartialRelistMs : kMinRelistMs);
  }

  setPaused(paused: boolean): void {
    this.paused.value = paused;
    if (!paused) this.refresh();
  }

  private relistSoon(leastMs = kMinRelistMs): void {
    if (this.relistTimer || this.paused.value || this.state.value === "loading") return;
    const pages = Math.floor(this.rows.value.length / kPageSize);
    const wait = Math.max(100, leastMs + pages * kRelistPerPageMs - (serverNow() - this.lastRead));
    this.relistTimer = window.setTimeout(() => {
      this.relistTimer = 0;
      // A slow answer is waited for: to begin again each time would never end.
      if (this.abort) this.relistSoon(leastMs);
      else void this.read(false);
    }, Math.max(wait, 500));
  }
}

// Pages may overlap when rows were added meanwhile; the first copy stays at its place.
function joinRows<T extends Row>(rows: readonly T[], more: readonly T[]): T[] {
  const known = new Set(rows.map((row) => row.id));
  return [...rows, ...more.filter((row) => !known.has(row.id))];
}
