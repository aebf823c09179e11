// One device: its shares as a bar, whose turn it is, history, links, events.
import type { JSX } from "preact";
import { t, tn, tOf } from "../core/i18n";
import { filteredLink, shareLink } from "../core/paths";
import { formatBytes, formatPercent } from "../core/units";
import { hasHistory, hiddenFor, isCluster } from "../data/session";
import type { Device, Part } from "../data/types";
import { DeviceBar } from "../ui/bars";
import { column, partColumns, statedColumns } from "../ui/cells";
import { ChangeLink, ChangePanel } from "../ui/change_panel";
import { RecentEvents } from "../ui/event_list";
import { type ChartPlan, History } from "../ui/history";
import { Icon } from "../ui/icons";
import { ItemPage } from "../ui/item_page";
import type { Column } from "../ui/list_table";
import { RowTable } from "../ui/short_list";
import { EmptyList, Nothing } from "../ui/states";
import { Bytes, Count, Duration, type Fact, Facts, Name, NodeName, NotKnown, Percent, Permille, State } from "../ui/values";
import { modelText } from "./devices";

const kMaxParts = 50; // shares of a device that are listed

export function DevicePage({ id }: { id: string }): JSX.Element {
  return (
    <ItemPage<Device> kind="devices" kindTitle={t("devices.title")} id={id}
      title={(device) => (
        <span class="device-name">
          <span class="index figure">{device.index}</span>
          {device.model ? <Name text={modelText(device)} /> : <Name text={device.id} />}
        </span>
      )}
      lead={(device) => (
        <p class="lead">
          <State kind="device.state" value={device.state} />
          {device.state_reason && <span>{device.state_reason}</span>}
          <NodeName node={device.node} />
        </p>
      )}
      action={isCluster() && <ChangeLink />} body={(device, gone) => <Content device={device} gone={gone} />} />
  );
}

function Content({ device, gone }: { device: Device; gone: boolean }): JSX.Element {
  return (
    <>
      <section class="panel" aria-labelledby="memory-title">
        <div class="panel-head"><h2 id="memory-title">{t("device.memory")}</h2><Turn device={device} /></div>
        <DeviceBar device={device} />
        <Facts facts={memoryFacts(device)} />
      </section>
      {isCluster() && <ChangePanel kind="device" item={device} gone={gone} load={() => import("../changes/cordon_form")} />}
      <section class="panel" aria-labelledby="parts-title">
        <div class="panel-head"><h2 id="parts-title">{t("shares.title")}</h2></div>
        <Parts device={device} />
      </section>
      <section class="panel" aria-labelledby="device-facts-title">
        <div class="panel-head"><h2 id="device-facts-title">{t("device.facts")}</h2></div>
        <Facts facts={deviceFacts(device)} />
        <Topology device={device} />
      </section>
      {hasHistory() && <History of={`device:${device.id}`} charts={charts(device)} />}
      {!isCluster() && <RecentEvents filter={`device:${device.id}`} />}
    </>
  );
}

function Turn({ device }: { device: Device }): JSX.Element | null {
  const part = device.parts?.find((each) => each.share === device.turn_tenant);
  if (!device.turn_tenant) return null;
  return (
    <p class="turn">
      <Icon name="turn" />
      <span>{t("device.turn")} <a href={shareLink(device.turn_tenant)}><Name text={part?.name ?? device.turn_tenant} /></a></span>
    </p>
  );
}

// A cluster's rows lack what no agent reports; what an agent does not know is null.
function stated(device: Device, facts: [keyof Device, Fact][]): Fact[] {
  return facts.filter(([member]) => device[member] !== undefined).map(([, fact]) => fact);
}

function memoryFacts(device: Device): Fact[] {
  return stated(device, [
    ["memory_total_bytes", { label: t("fact.total"), value: <Bytes value={device.memory_total_bytes} /> }],
    ["memory_used_bytes", { label: t("fact.used_driver"), value: <Bytes value={device.memory_used_bytes} />, hint: t("fact.used_driver_hint") }],
    ["memory_limits_bytes", { label: t("fact.limits"), value: <Bytes value={device.memory_limits_bytes} /> }],
    ["memory_guaranteed_bytes", { label: t("fact.guaranteed"), value: <Bytes value={device.memory_guaranteed_bytes} /> }],
    ["memory_swapped_bytes", { label: t("fact.swapped"), value: <Bytes value={device.memory_swapped_bytes} /> }],
    ["memory_budget_bytes", { label: t("fact.budget"), value: <Bytes value={device.memory_budget_bytes} /> }],
    ["memory_booked_bytes", { label: t("fact.booked"), value: <Bytes value={device.memory_booked_bytes} /> }],
    ["overcommit_permille", { label: t("fact.overcommit"), value: <Permille value={device.overcommit_permille} /> }],
    ["memory_pressure_permille", { label: t("fact.pressure"), value: <Permille value={device.memory_pressure_permille} /> }],
    ["context_bytes", { label: t("fact.context"), value: <Bytes value={device.context_bytes} />, hint: t("fact.context_hint") }],
  ]);
}

function deviceFacts(device: Device): Fact[] {
  const facts = stated(device, [
    ["utilisation_percent", { label: t("fact.utilisation"), value: <Percent value={device.utilisation_percent} /> }],
    ["compute_requested_percent", { label: t("fact.requested"), value: <Percent value={device.compute_requested_percent} /> }],
    ["tenants", { label: t("fact.tenants"), value: <Count value={device.tenants} /> }],
    ["checkpointed_tenants", { label: t("fact.checkpointed"), value: <Count value={device.checkpointed_tenants} /> }],
    ["turn_length_ms", { label: t("fact.turn_length"), value: <Duration value={device.turn_length_ms} /> }],
    ["swap_predicted_ms", { label: t("fact.swap_predicted"), value: <Duration value={device.swap_predicted_ms} /> }],
    ["swap_actual_ms", { label: t("fact.swap_actual"), value: <Duration value={device.swap_actual_ms} /> }],
    ["thrash_risk", { label: t("fact.thrash"), value: device.thrash_risk == null ? <NotKnown /> : device.thrash_risk ? t("value.yes") : t("value.no") }],
    ["numa", { label: t("fact.numa"), value: <Count value={device.numa} /> }],
  ]);
  if (device.kind) facts.push({ label: t("column.kind"), value: <Name text={device.kind} /> });
  if (device.pool) facts.push({ label: t("fact.pool"), value: isCluster() ? <a href={filteredLink("pools", `name=${device.pool}`)}><Name text={device.pool} /></a> : <Name text={device.pool} /> });
  facts.push(...stated(device, [["pci", { label: t("fact.pci"), value: device.pci ? <code>{device.pci}</code> : <NotKnown /> }]]));
  facts.push({ label: t("fact.uuid"), value: <code class="wrap">{device.uuid ?? device.id}</code>, wide: true });
  return facts;
}

function Parts({ device }: { device: Device }): JSX.Element {
  if (device.parts == null) return <Nothing title={t("value.not_known")}>{t("device.parts_unknown")}</Nothing>;
  if (device.parts.length === 0) {
    return device.tenants && hiddenFor("shares") ? <EmptyList list="shares" title={t("device.parts_hidden")} />
      : <Nothing title={t("device.no_parts")}>{t("device.no_parts_why")}</Nothing>;
  }
  const rows = device.parts.slice(0, kMaxParts).map((part) => ({ ...part, id: part.share }));
  const columns: Column<Part & { id: string }>[] = [
    {
      key: "share", title: t("column.share"), width: 0, rank: 1,
      cell: (part) => (
        <span class="part-cell">
          {part.share ? <a href={shareLink(part.share)}><Name text={part.name || part.share} /></a> : <span class="muted">{t("device.others")}</span>}
          {part.share === device.turn_tenant && (
            <span class="turn-sign" title={t("device.has_turn")}><Icon name="turn" /><span class="sr-only">{t("device.has_turn")}</span></span>
          )}
        </span>
      ),
    },
    column("text", "priority", t("column.priority"), 1, { cell: (part) => (part.priority ? tOf("priority.", part.priority) : <NotKnown />) }),
    ...partColumns<Part & { id: string }>(),
  ];
  const more = hiddenFor("shares") ? (device.tenants ?? 0) - device.parts.length : 0;
  return (
    <>
      <RowTable rows={rows} label={t("shares.title")} columns={statedColumns(columns, rows)} />
      {more > 0 && <p class="note">{tn("count.hidden_shares", more)}</p>}
    </>
  );
}

function Topology({ device }: { device: Device }): JSX.Element | null {
  const links = device.links ?? [];
  const nics = device.nics ?? [];
  if (links.length === 0 && nics.length === 0) return null;
  return (
    <dl class="topology">
      {links.length > 0 && (
        <>
          <dt>{t("device.links")}</dt>
          <dd>{links.map((link) => (
            <span class="tag figure" key={link.device}>
              {t("device.link", { index: link.device, score: link.score })}{link.direct ? ` ${t("device.direct")}` : ""}
            </span>
          ))}</dd>
        </>
      )}
      {nics.length > 0 && (
        <>
          <dt>{t("device.nics")}</dt>
          <dd>{nics.map((nic) => <span class="tag figure" key={nic.name}>{t("device.nic", { name: nic.name, distance: nic.distance })}</span>)}</dd>
        </>
      )}
    </dl>
  );
}

function charts(device: Device): ChartPlan[] {
  return [
    {
      title: t("chart.memory"), bytes: true, top: device.memory_total_bytes, format: formatBytes,
      lines: [
        { what: "memory_used_bytes", label: t("legend.used"), tone: "used" },
        { what: "memory_limits_bytes", label: t("legend.allocated"), tone: "allocated" },
        { what: "memory_swapped_bytes", label: t("legend.swapped"), tone: "swapped" },
      ],
    },
    {
      title: t("chart.compute_of_device"), top: 1000, format: (value) => formatPercent(value / 10),
      lines: [
        { what: "utilisation_permille", label: t("chart.busy"), tone: "used" },
        { what: "compute_usage_permille", label: t("chart.by_shares"), tone: "swapped" },
      ],
    },
  ];
}
