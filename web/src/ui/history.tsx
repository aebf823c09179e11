// History of one object: time range, charts that share a crosshair, a table behind a button.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t, tOf } from "../core/i18n";
import { instantsOf, kRanges, parseTimeRange, setTimeRange, type TimeRange } from "../core/time_range";
import { formatInstant } from "../core/units";
import { type ApiFailure, apiGet, failureFrom, isAborted } from "../data/api";
import { serverNow, setServerTime } from "../data/clock";
import { params, setParams } from "../data/router";
import { session } from "../data/session";
import type { SeriesAnswer } from "../data/types";
import { Failure, Loading, Nothing } from "./states";
import { scheme } from "./theme";

export interface ChartLine {
  what: string;
  label: string;
  tone: "used" | "allocated" | "swapped" | "waiting" | "idle";
}

export interface ChartPlan {
  title: string;
  lines: ChartLine[];
  bytes?: boolean;
  top?: number | null;
  format(value: number): string;
}

export interface HistoryData {
  t: number[];
  mean: Record<string, (number | null)[]>;
  max: Record<string, (number | null)[]>;
  hasMaxima: boolean;
  byteScale: boolean;
  tier: string;
  from: number;
  to: number;
}

const kPoints = 300;
const kMinRefreshMs = 5000;
const kTableRows = 40;

type ChartType = ComponentType<Record<string, unknown>>;

export function History({ of, charts }: { of: string; charts: ChartPlan[] }): JSX.Element {
  const range = parseTimeRange(params.value);
  const [data, setData] = useState<HistoryData | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [Chart, setChart] = useState<ChartType | null>(null);
  const [asTable, setAsTable] = useState(false);
  const what = charts.flatMap((chart) => chart.lines.map((line) => line.what)).join(",");
  const key = range.kind === "fixed" ? `${range.from}-${range.to}` : String(range.ms);
  useEffect(() => void import("./chart").then((module) => setChart(() => module.default as unknown as ChartType)), []);
  useEffect(() => pollSeries(of, what, range, setData, setFailure), [of, what, key]);
  const change = (next: TimeRange): void => setParams(setTimeRange(params.value, next), false);
  return (
    <section class="panel" aria-labelledby="history-title">
      <div class="panel-head">
        <h2 id="history-title">{t("history.title")}</h2>
        <RangePicker range={range} data={data} change={change} />
        <button type="button" class="button quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {t("history.as_table")}
        </button>
      </div>
      <HistoryNotice />
      {failure && !data && <Failure failure={failure} />}
      {!data && !failure && <Loading rows={5} />}
      {data && isEmpty(data) && <Nothing title={t("history.empty")}>{t("history.empty_why")}</Nothing>}
      {data && !isEmpty(data) && !asTable && Chart && (
        <div class="charts">
          {charts.map((chart) => (
            <figure key={chart.title}>
              <figcaption>{chart.title}</figcaption>
              <Chart data={{ ...data, byteScale: chart.bytes ?? false }} lines={chart.lines} format={chart.format}
                top={chart.top ?? undefined} from={data.from} to={data.to} scheme={scheme.value}
                onZoom={(from: number, to: number) => change({ kind: "fixed", from, to })}
                onReset={() => change({ kind: "last", ms: kRanges[1].ms })} />
            </figure>
          ))}
        </div>
      )}
      {data && !isEmpty(data) && !asTable && data.hasMaxima && (
        <p class="note">{t("history.tier", { tier: data.tier.replace(/(\d)([a-z])/, "$1 $2") })}</p>
      )}
      {data && !isEmpty(data) && asTable && <HistoryTable data={data} charts={charts} />}
    </section>
  );
}

function isEmpty(data: HistoryData): boolean {
  return !Object.values(data.mean).some((column) => column.some((value) => value !== null));
}

function HistoryNotice(): JSX.Element | null {
  const history = session.value?.history;
  if (!history || history.state === "ok") return null;
  return <p class="notice tone-waiting">{tOf("history.state.", history.state)}{history.message ? `: ${history.message}` : ""}</p>;
}

interface PickerProps {
  range: TimeRange;
  data: HistoryData | null;
  change(range: TimeRange): void;
}

function RangePicker({ range, data, change }: PickerProps): JSX.Element {
  const move = (direction: -1 | 1): void => {
    const { from, to } = instantsOf(range, serverNow());
    const step = ((to - from) / 2) * direction;
    change(to + step >= serverNow() ? { kind: "last", ms: lastFitting(to - from) }
      : { kind: "fixed", from: from + step, to: to + step });
  };
  return (
    <div class="ranges">
      <button type="button" class="button quiet small" onClick={() => move(-1)} aria-label={t("history.earlier")}>‹</button>
      <div class="segments" role="group" aria-label={t("history.range")}>
        {kRanges.map(({ name, ms }) => (
          <button key={name} type="button" aria-pressed={range.kind === "last" && range.ms === ms}
            onClick={() => change({ kind: "last", ms })}>{tOf("range.", name)}</button>
        ))}
      </div>
      <button type="button" class="button quiet small" disabled={range.kind === "last"} onClick={() => move(1)}
        aria-label={t("history.later")}>›</button>
      {range.kind === "fixed" && data && (
        <span class="range-text figure">{formatInstant(range.from)} – {formatInstant(range.to)}</span>
      )}
    </div>
  );
}

function lastFitting(length: number): number {
  return (kRanges.find((each) => each.ms >= length) ?? kRanges[kRanges.length - 1] ?? kRanges[1]).ms;
}

function pollSeries(
  of: string, what: string, range: TimeRange, setData: (data: HistoryData) => void,
  setFailure: (failure: ApiFailure | null) => void,
): () => void {
  const abort = new AbortController();
  let timer = 0;
  const read = async (): Promise<void> => {
    const { from, to } = instantsOf(range, serverNow());
    const query = new URLSearchParams({ of, what, points: String(kPoints) });
    query.set("from", String(Math.round(from)));
    query.set("to", String(Math.round(to)));
    try {
      if (!document.hidden) {
        const answer = await apiGet<SeriesAnswer>("series", query, abort.signal);
        setServerTime(answer.server_time_ms);
        setData(dataOf(answer, from, to));
        setFailure(null);
      }
    } catch (error) {
      if (isAborted(error) || abort.signal.aborted) return;
      setFailure(failureFrom(error));
    }
    if (range.kind === "last" && !abort.signal.aborted) {
      timer = window.setTimeout(() => void read(), Math.max(kMinRefreshMs, range.ms / kPoints));
    }
  };
  void read();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

function dataOf(answer: SeriesAnswer, from: number, to: number): HistoryData {
  const mean: HistoryData["mean"] = {};
  const max: HistoryData["max"] = {};
  for (const series of answer.series) {
    mean[series.what] = series.mean;
    if (series.max) max[series.what] = series.max;
  }
  return {
    t: answer.t_ms, mean, max, from, to, tier: answer.tier, byteScale: false,
    hasMaxima: answer.tier !== "5s" && Object.keys(max).length > 0,
  };
}

function HistoryTable({ data, charts }: { data: HistoryData; charts: ChartPlan[] }): JSX.Element {
  const step = Math.max(1, Math.ceil(data.t.length / kTableRows));
  const picked = data.t.map((_, index) => index).filter((index) => index % step === 0).reverse();
  const columns = charts.flatMap((chart) => chart.lines.map((line) => ({ ...line, chart })));
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={t("history.title")}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("column.time")}</th>
            {columns.map(({ what, label, chart }) => <th key={what} scope="col" class="amount">{chart.title}: {label}</th>)}
          </tr>
        </thead>
        <tbody>
          {picked.map((index) => (
            <tr key={index}>
              <th scope="row" class="figure">{formatInstant(data.t[index] ?? 0)}</th>
              {columns.map(({ what, chart }) => {
                const value = data.mean[what]?.[index];
                return <td key={what} class="amount figure">{value == null ? "—" : chart.format(value)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
