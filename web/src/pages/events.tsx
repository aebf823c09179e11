// The time line of events.
import type { JSX } from "preact";
import { t, tn } from "../core/i18n";
import { deviceLink, shareLink, waitingLink } from "../core/paths";
import { csvText } from "../core/csv";
import { serverNow } from "../data/clock";
import { params, setParams } from "../data/router";
import { isCluster } from "../data/session";
import type { EventRow } from "../data/types";
import { EventKind, NoEvents } from "../ui/event_list";
import { useListModel } from "../ui/list_page";
import { type Column, ListTable } from "../ui/list_table";
import { Failure, Freshness, Loading, Nothing } from "../ui/states";
import { CopyButton, FilterBox, QuickFilters, setFilters, Toolbar } from "../ui/toolbar";
import { Ago, Name } from "../ui/values";

function columns(): Column<EventRow>[] {
  return [
    {
      key: "time", title: t("column.time"), width: 92, rank: 1,
      cell: (row) => <Ago at={row.time_ms} />, csv: (row) => new Date(row.time_ms).toISOString(),
    },
    { key: "kind", title: t("column.kind"), width: isCluster() ? 150 : 104, rank: 2, cell: (row) => <EventKind kind={row.kind} />, csv: (row) => row.kind },
    {
      key: "text", title: t("column.event"), width: 200, grow: 7, rank: 1,
      cell: (row) => <Name text={row.text} />, csv: (row) => row.text,
    },
    {
      key: "share", title: isCluster() ? t("fact.pod") : t("column.share"), width: 130, grow: 1, rank: 3,
      cell: (row) => {
        const link = row.share ? shareLink(row.share) : isCluster() && row.name?.includes("/") ? waitingLink(row.name) : null;
        const name = row.name || row.share;
        return name ? link ? <a href={link}><Name text={name} /></a> : isCluster() && <Name text={name} /> : null;
      },
      csv: (row) => row.share ?? row.name,
    },
    ...(isCluster() ? [] : [{
      key: "device", title: t("column.device"), width: 120, rank: 6,
      cell: (row: EventRow) => (row.device ? <a href={deviceLink(row.device)}><Name text={row.device} /></a> : null),
      csv: (row: EventRow) => row.device,
    }, {
      key: "node", title: t("column.node"), width: 80, rank: 7, cell: (row: EventRow) => <Name text={row.node ?? ""} />,
      csv: (row: EventRow) => row.node,
    }]),
    { key: "actor", title: t("column.actor"), width: 80, rank: 5, cell: (row) => <Name text={row.actor ?? ""} />, csv: (row) => row.actor },
  ];
}

const kSince = [15 * 60_000, 3_600_000, 86_400_000, 7 * 86_400_000];

export function EventsPage(): JSX.Element {
  const cluster = isCluster();
  const model = useListModel<EventRow>("events", "", true);
  const failure = model.failure.value;
  const state = model.state.value;
  const empty = state === "ready" && model.rows.value.length === 0;
  const copy = (): string => csvText([
    columns().map((column) => column.title),
    ...model.rows.value.map((row) => columns().map((column) => column.csv?.(row))),
  ]);
  return (
    <div class="page page-list">
      <header class="page-head">
        <h1>{t("events.title")}</h1>
        {state === "ready" && <p class="count figure">{tn("count.events", model.total.value)}</p>}
        <span class="spring" />
        <CopyButton text={copy} label={t("action.copy_csv")} />
      </header>
      <Toolbar>
        <FilterBox label={t("list.filter_label")} hint={cluster ? t("list.filter_hint") : t("events.filter_hint")} />
        <QuickFilters filters={(cluster ? ["FailedScheduling", "Scheduled", "Preempted"] : ["given", "changed", "ended", "swapped-out"]).map((kind) => ({ label: kind, word: `kind:${kind}` }))} />
        <SinceChoice />
        <span class="spring" />
        <button type="button" class="button quiet" aria-pressed={!model.paused.value} onClick={() => model.setPaused(!model.paused.value)}>
          {t("events.follow")}
        </button>
      </Toolbar>
      <Freshness dataTime={model.dataTime.value} sources={model.sources.value} />
      {model.pending.value > 0 && (
        <button type="button" class="button pending" onClick={() => model.refresh()}>{tn("count.new_events", model.pending.value)}</button>
      )}
      <div class="whole">
        {state === "loading" && <Loading rows={10} />}
        {state === "failed" && failure && <Failure failure={failure} retry={() => model.refresh()} />}
        {empty && (params.value.toString() ? (
          <Nothing title={t("list.no_match")}>
            <button type="button" class="button" onClick={() => setFilters([])}>{t("list.clear_filter")}</button>
          </Nothing>
        ) : <NoEvents />)}
        {state === "ready" && !empty && <ListTable model={model} columns={columns()} label={t("events.title")} />}
      </div>
    </div>
  );
}

function SinceChoice(): JSX.Element {
  const change = (value: string): void => {
    const next = new URLSearchParams(params.value);
    next.delete("from");
    next.delete("to");
    if (value) next.set("from", String(Math.round(serverNow() - Number(value))));
    setParams(next);
  };
  const from = Number(params.value.get("from") ?? 0);
  const length = from ? serverNow() - from : 0;
  const nearest = from ? kSince.reduce((a, b) => (Math.abs(b - length) < Math.abs(a - length) ? b : a)) : "";
  return (
    <label class="choice">
      <span>{t("events.since")}</span>
      <select value={String(nearest)} onChange={(event) => change(event.currentTarget.value)}>
        <option value="">{t("events.any_time")}</option>
        <option value={kSince[0]}>{t("range.15m")}</option>
        <option value={kSince[1]}>{t("range.1h")}</option>
        <option value={kSince[2]}>{t("range.1d")}</option>
        <option value={kSince[3]}>{t("range.7d")}</option>
      </select>
    </label>
  );
}
