// Device hours and cost over a time: a bar of the whole, a chart of days, a table by team, share and others.
import { signal, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { t } from "../core/i18n";
import { filteredLink, deviceLink, idPath, queueLink, shareLink } from "../core/paths";
import {
  formatBytes, formatDay, formatHours, formatInstant, formatMoney, formatPercent, type Maybe, ratioPercent,
} from "../core/units";
import { daySums, kClusterKeys, kLocalKeys, kSpans, type UsageRow, usageBar, usageRows, usageSpan } from "../core/usage";
import { apiUrl } from "../data/api";
import { nowMs } from "../data/clock";
import { params, setParams } from "../data/router";
import { isCluster, limitedScope } from "../data/session";
import type { Usage, UsageAnswer } from "../data/types";
import { useAnswer } from "../data/use_answer";
import { amountText } from "../ui/bars";
import { column } from "../ui/cells";
import { Icon } from "../ui/icons";
import { type Column, ListTable } from "../ui/list_table";
import { EmptyList, Failure, Freshness, Loading, Nothing } from "../ui/states";
import { FilterBox, setFilters, Toolbar } from "../ui/toolbar";
import { EndOfName, Name, NotKnown, Sentence } from "../ui/values";

const kRefreshMs = 300_000;

type Format = (value: number) => string;

export function OtherPage(): JSX.Element {
  const keys = isCluster() ? kClusterKeys : kLocalKeys;
  const by = chosen("by", keys);
  const name = chosen("range", kSpans);
  const at = useComputed(() => Math.floor(nowMs.value / kRefreshMs) * kRefreshMs).value;
  const { from, to } = usageSpan(name, at);
  const span = { from: String(from), to: String(to) };
  const query = new URLSearchParams({ by, ...span });
  const { answer, failure, reload } = useAnswer<UsageAnswer>(`usage?${query}`);
  // An answer stays while it is read again, and where that fails for lack of the console.
  const kept = failure === null || (answer?.by === by && (failure.status === 0 || failure.status >= 500));
  return (
    <div class="page">
      <header class="page-head">
        <h1>{t("usage.title")}</h1>
        {answer && kept && (
          <p class="count">
            <span class="figure">{formatInstant(answer.from_ms)}</span> – <span class="figure">{formatInstant(answer.to_ms)}</span>
            {limitedScope() && `, ${t("scope.of_seen")}`}
          </p>
        )}
        <span class="spring" />
        <a class="button quiet" href={apiUrl("usage.csv", query)} download="usage.csv"><Icon name="down" />{t("usage.csv")}</a>
      </header>
      <Toolbar>
        <Choice word="by" title={t("usage.by")} value={by} names={keys} texts={{
          team: t("column.team"), namespace: t("column.namespace"), queue: t("column.queue"), owner: t("column.owner"),
          model: t("column.model"), device: t("column.device"), share: t("column.share"),
        }} />
        <Choice word="range" title={t("column.time")} value={name} names={kSpans} texts={{
          "1d": t("usage.1d"), "7d": t("usage.7d"), "30d": t("usage.30d"), month: t("usage.month"), "last-month": t("usage.last_month"),
        }} />
        <FilterBox label={t("list.filter_label")} hint={t("column.name")} />
      </Toolbar>
      <Freshness dataTime={null} sources={[]} />
      {failure && <Failure failure={failure} retry={reload} />}
      {!failure && !answer && <Loading rows={8} />}
      {answer && kept && <Content answer={answer} days={to - from > 86_400_000 && <Days span={span} />} />}
    </div>
  );
}

// The word of the address, or the first name that is accepted.
function chosen(word: string, names: readonly string[]): string {
  const value = params.value.get(word) ?? "";
  return names.includes(value) ? value : names[0] ?? "";
}

interface ChoiceProps {
  word: string;
  title: string;
  value: string;
  names: readonly string[];
  texts: Record<string, string>;
}

function Choice({ word, title, value, names, texts }: ChoiceProps): JSX.Element {
  const change = (name: string): void => {
    const next = new URLSearchParams(params.value);
    next.set(word, name);
    setParams(next);
  };
  return (
    <label class="choice">
      <span>{title}</span>
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        {names.map((name) => <option key={name} value={name}>{texts[name]}</option>)}
      </select>
    </label>
  );
}

function Content({ answer, days }: { answer: UsageAnswer; days: JSX.Element | false }): JSX.Element {
  const { items, unpriced_models: unpriced } = answer;
  return (
    <>
      {unpriced.length > 0 && (
        <p class="notice tone-waiting"><Icon name="warning" /><span>{t("usage.unpriced")} <Sentence text={unpriced.join(", ")} /></span></p>
      )}
      <div class={days && items.length ? "grid-2" : undefined}>
        <Sums answer={answer} />
        {items.length > 0 && days}
      </div>
      {items.length ? <Rows answer={answer} /> : <EmptyList list="usage" title={t("usage.nothing")}>{t("usage.nothing_why")}</EmptyList>}
    </>
  );
}

function Bar({ of, scale }: { of: Usage; scale: number }): JSX.Element {
  return <>{usageBar(of, scale).map(({ key, percent }) => <span key={key} class={`bar-${key}`} style={{ "--part": `${percent}%` }} />)}</>;
}

function Sums({ answer: { total, currency } }: { answer: UsageAnswer }): JSX.Element {
  const capacity = total.capacity_device_hours;
  const scale = capacity ?? total.allocated_device_hours;
  const rest = total.allocated_device_hours - (total.device_hours ?? 0) - (total.idle_device_hours ?? 0);
  const restMicro = total.charged_micro == null ? null : total.charged_micro - (total.used_micro ?? 0) - (total.idle_micro ?? 0);
  const rows: [string, string, Maybe<number>, Maybe<number>][] = [
    ["used", t("funnel.used"), total.device_hours, total.used_micro],
    ["idle", t("funnel.idle"), total.idle_device_hours, total.idle_micro],
    ["allocated", t("usage.unknown"), rest, restMicro],
    ["", t("funnel.allocated"), total.allocated_device_hours, total.charged_micro],
    ["unallocated", t("usage.unallocated"), total.unallocated_device_hours, total.unallocated_micro],
    ["", t("funnel.total"), capacity, total.price_micro],
  ];
  // The row of use that is not known is there if its part of the bar is.
  const shown = rows.filter(([key]) => key !== "allocated" || usageBar(total, scale).some((part) => part.key === key));
  return (
    <section class="panel" aria-labelledby="sums-title">
      <div class="panel-head"><h2 id="sums-title">{t("usage.hours")}</h2></div>
      <div class="usage-bar" aria-hidden="true"><Bar of={total} scale={scale} /></div>
      <table class="funnel usage-sums">
        <thead class="sr-only">
          <tr><th>{t("column.what")}</th><th>{t("usage.hours")}</th><th>{t("column.of_total")}</th>{currency && <th>{t("usage.cost")}</th>}</tr>
        </thead>
        <tbody>
          {shown.map(([key, label, hours, micro]) => {
            const part = ratioPercent(hours, capacity);
            return (
              <tr key={label}>
                <th scope="row"><span class={`key key-${key}`} /> {label}</th>
                <td class="amount strong"><Amount value={hours} format={formatHours} /></td>
                <td class="amount figure muted">{part !== null && formatPercent(part)}</td>
                {currency && <td class="amount"><Amount value={micro} format={(value) => formatMoney(value, currency)} /></td>}
                <td />
              </tr>
            );
          })}
        </tbody>
      </table>
      {!currency && <p class="note">{t("usage.no_prices")} <code>divvy console --prices FILE</code></p>}
    </section>
  );
}

function Amount({ value, format }: { value: Maybe<number>; format: Format }): JSX.Element {
  return value == null ? <NotKnown /> : <span class="figure">{format(value)}</span>;
}

// What was allocated on each day, used and idle.
function Days({ span }: { span: Record<string, string> }): JSX.Element {
  const { answer, failure, reload } = useAnswer<UsageAnswer>(`usage?${new URLSearchParams({ by: "model", step: "day", ...span })}`);
  const days = answer ? daySums(answer.items, { from: answer.from_ms, to: answer.to_ms }) : [];
  const top = Math.max(0, ...days.map(({ sum }) => sum?.allocated_device_hours ?? 0));
  return (
    <section class="panel usage-days" aria-labelledby="days-title">
      <div class="panel-head"><h2 id="days-title">{t("usage.days")}</h2>{top > 0 && <span class="muted figure">{t("usage.top", { n: formatHours(top) })}</span>}</div>
      {failure && <Failure failure={failure} retry={reload} />}
      {!failure && !answer && <Loading rows={5} />}
      {answer && (
        <ol class="days">
          {days.map(({ start, sum }) => {
            const text = `${formatDay(start)}: ${sum ? `${t("funnel.allocated")} ${formatHours(sum.allocated_device_hours)}, ${t("funnel.used")} ${amountText(sum.device_hours, formatHours)}` : t("value.not_known")}`;
            return <li key={start} title={text}><span class="sr-only">{text}</span>{sum && <Bar of={sum} scale={top} />}</li>;
          })}
        </ol>
      )}
      <div class="device-scale" aria-hidden="true">{[days[0], days.at(-1)].map((day) => day && <span key={day.start}>{formatDay(day.start)}</span>)}</div>
    </section>
  );
}

function linkOf(by: string, { key }: UsageRow): string | null {
  switch (key && by) {
    case "share":
      return shareLink(key);
    case "device":
      return deviceLink(key);
    case "queue":
      return queueLink(key);
    case "owner":
      return key.split("/").length === 3 ? `workloads/${idPath(key)}` : null;
    case "model":
      return filteredLink("devices", `model=${key}`);
    default:
      return key ? filteredLink("shares", `${by}=${key}`) : null;
  }
}

// Pods of one owner differ at their end, devices of one model by their ID.
function RowName({ by, row: { key, name } }: { by: string; row: UsageRow }): JSX.Element {
  if (!name) return by === "model" ? <NotKnown /> : <span class="muted">{t("value.none")}</span>;
  if (by === "device" && name !== key) return <span class="usage-device"><Name text={name.replace(/^NVIDIA /, "")} /><EndOfName text={key} /></span>;
  return name.includes("/") && by !== "model" ? <EndOfName text={name} /> : <Name text={name} />;
}

function columns(by: string, currency: Maybe<string>): Column<UsageRow>[] {
  const amount = (field: keyof UsageRow, title: string, rank: number, format: Format, width = 84): Column<UsageRow> =>
    column("count", field, title, rank, { width, cell: (row) => <Amount value={row[field] as Maybe<number>} format={format} /> });
  const money: Format = (micro) => formatMoney(micro, currency ?? "");
  return [
    column("text", "name", t("column.name"), 1, {
      width: 190, narrow: 96, grow: 3,
      cell: (row) => <RowName by={by} row={row} />,
    }),
    amount("allocated_device_hours", t("column.allocated"), 1, formatHours),
    amount("device_hours", t("column.used"), 3, formatHours),
    amount("idle_device_hours", t("funnel.idle"), 4, formatHours),
    amount("used_percent", t("usage.part"), 1, formatPercent, 74),
    amount("memory_byte_hours", t("column.memory"), 6, (value) => `${formatBytes(value)} h`, 110),
    ...(currency ? [
      amount("charged_micro", t("usage.cost"), 2, money, 110), amount("idle_micro", t("usage.idle_cost"), 5, money, 110),
    ] : []),
  ];
}

function Rows({ answer }: { answer: UsageAnswer }): JSX.Element {
  const { by, items, currency } = answer;
  const sort = params.value.get("sort") ?? "";
  const words = params.value.getAll("filter");
  const model = useMemo(() => {
    const rows = usageRows(items, sort, words);
    return { rows: signal(rows), total: signal(rows.length), want: () => {} };
  }, [items, sort, words.join("\n")]);
  if (model.rows.value.length === 0) {
    return (
      <Nothing title={t("list.no_match")}>
        <button type="button" class="button" onClick={() => setFilters([])}>{t("list.clear_filter")}</button>
      </Nothing>
    );
  }
  return <div class="usage-table"><ListTable model={model} columns={columns(by, currency)} label={t("usage.title")} link={(row) => linkOf(by, row)} /></div>;
}
