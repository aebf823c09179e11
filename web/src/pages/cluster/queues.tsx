// Queues as a tree with bars, and one queue: amounts by model, its children, why pods wait.
import type { JSX } from "preact";
import type { Row } from "../../core/delta";
import { t } from "../../core/i18n";
import { filteredLink, queueLink, shareLink, waitingLink } from "../../core/paths";
import { isMeasured, type QueueBar, queueBars } from "../../core/queue_bars";
import { formatBytes, formatNumber, type Maybe } from "../../core/units";
import type { Queue } from "../../data/cluster_types";
import { params } from "../../data/router";
import type { Share } from "../../data/types";
import { Legend, Meter } from "../../ui/bars";
import { column } from "../../ui/cells";
import { ChangeLink, ChangePanel } from "../../ui/change_panel";
import { Icon } from "../../ui/icons";
import { ItemPage } from "../../ui/item_page";
import { ListPage } from "../../ui/list_page";
import type { Column } from "../../ui/list_table";
import { Nothing } from "../../ui/states";
import { RowTable, ShortList } from "../../ui/short_list";
import { Count, Facts, Name, NotKnown, Sentence, State } from "../../ui/values";
import { shareColumns } from "../shares";

interface WaitingReason extends Row {
  reason: string;
  pods?: Maybe<number>;
  example?: Maybe<string>;
}

type Amount = "guarantee" | "used" | "borrowed" | "limit";

function amountText(bar: QueueBar, part: Amount): string | null {
  const value = bar[part];
  if (value === null) return null;
  const devices = value / 1000;
  return bar.bytes ? formatBytes(value) : t("unit.devices", { n: formatNumber(devices, Number.isInteger(devices) ? 0 : 1) });
}

function AmountOf({ bar, part }: { bar: QueueBar | undefined; part: Amount }): JSX.Element {
  const text = bar && amountText(bar, part);
  return text ? <span class="figure">{text}</span> : part === "used" ? <NotKnown /> : <span class="muted">{t("value.none")}</span>;
}

// The guarantee is an outline, use a fill, what of it is borrowed a hatch; the bar ends at the limit.
function Bar({ bar }: { bar: QueueBar | undefined }): JSX.Element {
  if (!bar) return <NotKnown />;
  const text = (part: Amount): string => amountText(bar, part) ?? (part === "used" ? t("value.not_known") : t("value.none"));
  const label = t("queue.bar_label", { guarantee: text("guarantee"), used: text("used"), borrowed: text("borrowed"), limit: text("limit") });
  if (!isMeasured(bar.guarantee, bar.limit)) return <span class="muted" title={label}>{t("queue.no_limit")}</span>;
  const own = bar.used === null ? null : bar.used - (bar.borrowed ?? 0);
  return <span class="queue-bar"><Meter used={own} swapped={bar.borrowed} allocated={bar.guarantee} total={bar.scale} label={label} /></span>;
}

function amountColumns<T extends Row>(barOf: (row: T) => QueueBar | undefined): Column<T>[] {
  const titles = { used: t("column.used"), guarantee: t("column.guarantee"), borrowed: t("column.borrowed"), limit: t("column.limit") };
  const ranks = { used: 2, guarantee: 3, borrowed: 4, limit: 5 };
  const parts = Object.keys(titles) as Amount[];
  return [
    { key: "bar", title: t("column.amount"), width: 110, narrow: 54, grow: 2, rank: 1, cell: (row) => <Bar bar={barOf(row)} /> },
    ...parts.map((part): Column<T> => ({
      key: part, title: titles[part], width: 88, rank: ranks[part], amount: true,
      cell: (row) => <AmountOf bar={barOf(row)} part={part} />, csv: (row) => barOf(row)?.[part],
    })),
  ];
}

function queueColumns(asTree: boolean): Column<Queue>[] {
  return [
    {
      key: "path", title: t("column.queue"), width: 150, narrow: 96, grow: 2, rank: 1, sort: "path", csv: (row) => row.path,
      cell: (row) => (asTree ? (
        <span class="tree" style={{ "--depth": row.depth ?? 0 }} title={row.path ?? row.name}><Name text={row.name} /></span>
      ) : <Name text={row.path ?? row.name} />),
    },
    {
      key: "fault", title: t("column.state"), width: 106, narrow: 18, wordless: true, rank: 1, sort: "fault", csv: (row) => row.fault,
      cell: (row) => (row.fault == null ? <NotKnown /> : <State kind="queue.state" value={row.fault ? "fault" : "in-force"} reason={row.fault} />),
    },
    ...amountColumns<Queue>((row) => queueBars(row)[0]),
    column("count", "pending", t("waiting.title"), 2),
    column("count", "running", t("column.running"), 6),
    column("text", "namespaces", t("column.namespaces"), 7),
    column("text", "pool", t("column.pool"), 8, { width: 80 }),
  ];
}

export function QueuesPage(): JSX.Element {
  const asTree = ["", "path"].includes(params.value.get("sort") ?? "") && !params.value.has("filter");
  return (
    <ListPage<Queue> kind="queues" title={t("queues.title")} count="count.queues" filterHint={t("list.filter_hint")} defaultSort="path"
      columns={queueColumns(asTree)} nothingTitle={t("queues.nothing")} nothing={t("queues.nothing_why")} link={(row) => queueLink(row.id)} />
  );
}

export function QueuePage({ id }: { id: string }): JSX.Element {
  return (
    <ItemPage<Queue> kind="queues" kindTitle={t("queues.title")} id={id} title={(queue) => <Name text={queue.name} />}
      lead={(queue) => (
        <p class="lead">
          {queue.fault != null && <State kind="queue.state" value={queue.fault ? "fault" : "in-force"} />}
          <span class="muted"><Name text={queue.path ?? ""} /></span>
        </p>
      )}
      action={<ChangeLink />} body={(queue, gone) => <Content queue={queue} gone={gone} />} />
  );
}

function Content({ queue, gone }: { queue: Queue; gone: boolean }): JSX.Element {
  const bars = queueBars(queue).map((bar) => ({ ...bar, id: `${bar.model} ${bar.bytes}` }));
  const { parent, namespaces, borrows } = queue;
  return (
    <>
      {queue.fault && <p class="notice tone-broken"><Icon name="critical" /><Sentence text={queue.fault} /></p>}
      <section class="panel" aria-label={t("column.amount")}>
        <div class="panel-head"><h2>{t("column.amount")}</h2><Legend names={["guarantee", "used", "borrowed"]} /></div>
        {bars.length === 0 ? <Nothing title={t("queue.no_amounts")} /> : (
          <RowTable rows={bars} label={t("column.amount")} columns={[
            { key: "model", title: t("column.model"), width: 0, rank: 1, cell: (bar) => (bar.model === "*" ? t("value.all") : <Name text={bar.model} />) },
            ...amountColumns<(typeof bars)[number]>((bar) => bar),
          ]} />
        )}
      </section>
      <WaitingReasons queue={queue} />
      <section class="panel" aria-label={t("column.queue")}>
        <Facts facts={[
          { label: t("fact.parent"), value: parent ? <a href={queueLink(parent)}><Name text={parent} /></a> : t("value.none") },
          { label: t("column.running"), value: <Count value={queue.running} /> },
          { label: t("waiting.title"), value: <Count value={queue.pending} /> },
          { label: t("fact.weight"), value: <Count value={queue.weight} /> },
          { label: t("fact.borrows"), value: borrows == null ? <NotKnown /> : borrows ? t("value.yes") : t("value.no") },
          { label: t("column.pool"), value: queue.pool ? <a href={filteredLink("pools", `name=${queue.pool}`)}><Name text={queue.pool} /></a> : t("value.any") },
          { label: t("column.namespaces"), value: namespaces == null ? <NotKnown /> : namespaces.length ? <Sentence text={namespaces.join(", ")} /> : t("value.none"), wide: true },
        ]} />
      </section>
      <ChangePanel kind="queue" item={queue} gone={gone} load={() => import("../../changes/queue_form")} />
      <ShortList<Queue> kind="queues" title={t("queue.children")} filters={[`parent=${queue.name}`]}
        columns={queueColumns(false)} nothing={t("queue.no_children")} link={(row) => queueLink(row.id)} />
      <ShortList<Share> kind="shares" title={t("shares.title")} filters={[`queue=${queue.name}`]}
        columns={shareColumns().filter(({ key }) => key !== "queue")} nothing={t("shares.nothing")} link={(row) => shareLink(row.id)} />
    </>
  );
}

function WaitingReasons({ queue }: { queue: Queue }): JSX.Element {
  return (
    <section class="panel" aria-label={t("waiting.title")}>
      <div class="panel-head">
        <h2>{t("waiting.title")}</h2>
        {!!queue.pending && <a href={filteredLink("waiting", `queue=${queue.name}`)}>{t("list.all", { n: queue.pending })}</a>}
      </div>
      {queue.waiting == null ? <NotKnown /> : queue.waiting.length === 0 ? <Nothing title={t("waiting.nothing_pod")} /> : (
        <RowTable<WaitingReason> rows={queue.waiting.map((row) => ({ ...row, id: row.reason }))} label={t("waiting.title")} columns={[
          { key: "reason", title: t("column.reason"), width: 0, rank: 1, cell: (row) => <Sentence text={row.reason} /> },
          column("count", "pods", t("column.pods"), 1),
          column("text", "example", t("column.example"), 1, { link: (row) => waitingLink(row.example ?? "") }),
        ]} />
      )}
    </section>
  );
}
