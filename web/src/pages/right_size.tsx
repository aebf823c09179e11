// Workloads whose shares are larger than their use, or idle: advice with the change to copy.
import { signal, useComputed } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { t, tn, tOf } from "../core/i18n";
import { filteredLink, workloadLink } from "../core/paths";
import { changeOf, kAdviceWord, kDays, kIdleWord, type RightSizeRow, rightSizeRows } from "../core/right_size";
import { formatBytes, formatDuration, formatHours, formatInstant, formatMoney, formatNumber, formatPercent, type Maybe } from "../core/units";
import { apiUrl } from "../data/api";
import { nowMs } from "../data/clock";
import { params, setParams } from "../data/router";
import { isCluster, limitedScope } from "../data/session";
import type { RightSizeAnswer } from "../data/types";
import { useAnswer } from "../data/use_answer";
import { column } from "../ui/cells";
import { Icon } from "../ui/icons";
import { type Column, ListTable } from "../ui/list_table";
import { EmptyList, Failure, Freshness, Loading, Nothing } from "../ui/states";
import { CopyButton, FilterBox, QuickFilters, setFilters, Toolbar } from "../ui/toolbar";
import { EndOfName, type Fact, Facts, Name, NotKnown, State } from "../ui/values";

const kRefreshMs = 300_000;

export function OtherPage(): JSX.Element {
  const asked = params.value.get("days") ?? "";
  const days = kDays.includes(asked) ? asked : kDays[0] ?? "";
  const at = useComputed(() => Math.floor(nowMs.value / kRefreshMs)).value;
  const query = new URLSearchParams({ days });
  const { answer, failure, reload } = useAnswer<RightSizeAnswer>(`rightsize?${query}`, String(at));
  const setDays = (value: string): void => {
    const next = new URLSearchParams(params.value);
    next.set("days", value);
    setParams(next);
  };
  return (
    <div class="page">
      <header class="page-head">
        <h1>{t("rightsize.title")}</h1>
        {answer && <p class="count">{t("rightsize.since")} <span class="figure">{formatInstant(answer.from_ms)}</span>{limitedScope() && `, ${t("scope.of_seen")}`}</p>}
        <span class="spring" />
        <a class="button quiet" href={apiUrl("rightsize.csv", query)} download="rightsize.csv"><Icon name="down" />{t("usage.csv")}</a>
      </header>
      <Toolbar>
        <label class="choice">
          <span>{t("column.time")}</span>
          <select value={days} onChange={(event) => setDays(event.currentTarget.value)}>
            {[...kDays].sort((a, b) => Number(a) - Number(b)).map((each) => <option key={each} value={each}>{t("rightsize.days", { n: each })}</option>)}
          </select>
        </label>
        <FilterBox label={t("list.filter_label")} hint={t("column.name")} />
        <QuickFilters filters={[{ label: t("rightsize.idle"), word: kIdleWord }, { label: t("rightsize.state.advice"), word: kAdviceWord }]} />
      </Toolbar>
      <Freshness dataTime={null} sources={[]} />
      {failure && <Failure failure={failure} retry={reload} />}
      {!failure && !answer && <Loading rows={8} />}
      {answer && !failure && <Content answer={answer} />}
    </div>
  );
}

function Content({ answer }: { answer: RightSizeAnswer }): JSX.Element {
  const { items, total, currency } = answer;
  const [picked, setPicked] = useState("");
  const sort = params.value.get("sort") ?? "";
  const words = params.value.getAll("filter");
  const model = useMemo(() => {
    const rows = rightSizeRows(items, sort, words);
    return { rows: signal(rows), total: signal(rows.length), want: () => {} };
  }, [items, sort, words.join("\n")]);
  if (items.length === 0) return <EmptyList list="rightsize" title={t("rightsize.nothing")}>{t("rightsize.nothing_why")}</EmptyList>;
  const row = items.find(({ key }) => key === picked);
  return (
    <>
      <p class="size-total">
        {t("rightsize.saving")} <strong class="figure">{formatBytes(total.saving_bytes)}</strong>
        {", "}<strong class="figure">{t("rightsize.devices", { n: formatNumber(total.saving_devices, 2) })}</strong>
        {currency && total.idle_micro_per_day != null && <>{", "}<strong class="figure">{t("rightsize.per_day", { cost: formatMoney(total.idle_micro_per_day, currency) })}</strong></>}
      </p>
      {model.rows.value.length === 0 ? (
        <Nothing title={t("list.no_match")}>
          <button type="button" class="button" onClick={() => setFilters([])}>{t("list.clear_filter")}</button>
        </Nothing>
      ) : (
        <div class="usage-table">
          <ListTable model={model} columns={columns(currency)} label={t("rightsize.title")} onPick={({ key }) => setPicked(key === picked ? "" : key)} picked={picked} />
        </div>
      )}
      {row && <Advice row={{ ...row, id: row.key }} currency={currency} close={() => setPicked("")} />}
    </>
  );
}

// The present amount and the advised one.
function Change({ now, advised, format }: { now: Maybe<number>; advised: Maybe<number>; format(value: number): string }): JSX.Element {
  if (now == null) return <NotKnown />;
  return <span class="figure">{format(now)}{advised != null && <> → <strong>{format(advised)}</strong></>}</span>;
}

function columns(currency: Maybe<string>): Column<RightSizeRow>[] {
  const cluster = isCluster();
  return [
    column("text", "key", t("column.name"), 1, { width: 220, narrow: 110, grow: 3, cell: ({ key }) => (cluster ? <EndOfName text={key} /> : <Name text={key} />) }),
    column("text", "state", t("column.state"), 2, { width: 116, narrow: 18, wordless: true, cell: ({ state }) => <State kind="rightsize.state" value={state} /> }),
    column("count", "shares", t("shares.title"), 8),
    column("bytes", "peak_bytes", t("rightsize.peak"), 5),
    column("bytes", "limit_bytes", t("column.limit"), 3, {
      width: 150, cell: (row) => <Change now={row.limit_bytes} advised={row.advised_bytes} format={formatBytes} />,
    }),
    column("percent", "busy_percent", t("rightsize.busy"), 7),
    column("percent", "cores_percent", t("column.compute"), 4, {
      width: 96, cell: (row) => <Change now={row.cores_percent} advised={row.advised_cores} format={formatPercent} />,
    }),
    column("bytes", "saving_bytes", t("rightsize.saves"), 1, { narrow: 72, cell: ({ saving_bytes: saving }) => (saving ? <span class="figure">{formatBytes(saving)}</span> : <None />) }),
    ...(currency ? [column<RightSizeRow>("count", "idle_micro_per_day", t("rightsize.cost"), 6, {
      width: 104, cell: ({ idle_micro_per_day: cost }) => (cost ? <span class="figure">{formatMoney(cost, currency)}</span> : <None />),
    })] : []),
    column("duration", "idle_ms", t("column.idle_for"), 3),
    {
      key: "change", title: t("rightsize.change"), width: 92, rank: 2,
      cell: (row) => {
        const change = changeOf(row, cluster);
        return change ? <CopyButton text={() => change} label={t("action.copy")} /> : <None />;
      },
    },
  ];
}

const None = (): JSX.Element => <span class="muted">{t("value.none")}</span>;

// All of one row: the reason of its state, and the change.
function Advice({ row, currency, close }: { row: RightSizeRow; currency: Maybe<string>; close(): void }): JSX.Element {
  const change = changeOf(row, isCluster());
  const amount = (value: Maybe<number>, format: (value: number) => string): ComponentChildren => (value == null ? <NotKnown /> : <span class="figure">{format(value)}</span>);
  const facts: Fact[] = [
    { label: t("shares.title"), value: amount(row.shares, formatNumber) },
    { label: t("rightsize.seen"), value: <span class="figure">{tn("rightsize.seen_days", row.seen_days)}, {formatHours(row.seen_hours)}</span> },
    { label: t("rightsize.peak"), value: amount(row.peak_bytes, formatBytes) },
    { label: t("column.limit"), value: <Change now={row.limit_bytes} advised={row.advised_bytes} format={formatBytes} /> },
    { label: t("rightsize.busy"), value: amount(row.busy_percent, formatPercent) },
    { label: t("column.compute"), value: <Change now={row.cores_percent} advised={row.advised_cores} format={formatPercent} /> },
    { label: t("column.idle_for"), value: amount(row.idle_ms, formatDuration) },
    ...(currency ? [{ label: t("rightsize.cost"), value: amount(row.idle_micro_per_day, (value) => formatMoney(value, currency)) }] : []),
  ];
  const title = <Name text={row.key} />;
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.scrollIntoView({ block: "nearest" }), [row.key]);
  return (
    <section class="panel size-advice" ref={panel} aria-label={t("rightsize.change")}>
      <div class="panel-head">
        <h2 class="side-name">{row.namespace ? <a href={workloadLink(row.namespace, row.owner)}>{title}</a> : <a href={filteredLink("shares", `name=${row.key}`)}>{title}</a>}</h2>
        <button type="button" class="button quiet small" onClick={close} aria-label={t("action.close")}><Icon name="close" /></button>
      </div>
      <p>{tOf("rightsize.why.", row.state)}{row.state === "reserves" && <> <code>divvy size</code></>}</p>
      <Facts facts={facts} />
      {change && (
        <div class="command-line">
          <pre class="command" tabIndex={0} role="group" aria-label={t("rightsize.change")}>{change}</pre>
          <CopyButton text={() => change} label={t("action.copy")} />
        </div>
      )}
    </section>
  );
}
