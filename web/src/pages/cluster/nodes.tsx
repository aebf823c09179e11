// Nodes, and one node: its devices as bars, its shares.
import type { JSX } from "preact";
import { t, tOf } from "../../core/i18n";
import { deviceLink, nodeLink, shareLink } from "../../core/paths";
import type { NodeRow } from "../../data/cluster_types";
import type { Device, Share } from "../../data/types";
import { DeviceBar, Legend } from "../../ui/bars";
import { column, memoryColumn } from "../../ui/cells";
import { ChangeLink, ChangePanel } from "../../ui/change_panel";
import { ItemPage } from "../../ui/item_page";
import { ListPage } from "../../ui/list_page";
import type { Column } from "../../ui/list_table";
import { ShortList } from "../../ui/short_list";
import { Bytes, Count, Duration, type Fact, Facts, Name, NotKnown, Percent, State } from "../../ui/values";
import { deviceColumns, modelText } from "../devices";
import { shareColumns } from "../shares";

function columns(): Column<NodeRow>[] {
  return [
    column("text", "node", t("column.node"), 1, { width: 120, narrow: 100, grow: 2 }),
    column("text", "state", t("column.state"), 1, {
      width: 110, narrow: 18, grow: undefined, wordless: true, cell: (row) => <State kind="node.state" value={row.state} reason={row.state_reason} />,
    }),
    column("text", "models", t("devices.title"), 2, { width: 170, grow: 2 }),
    column("text", "pool", t("column.pool"), 5, { width: 80 }),
    memoryColumn(t("column.memory")),
    column("bytes", "memory_used_bytes", t("column.used"), 3),
    column("bytes", "memory_limits_bytes", t("column.allocated"), 4, { width: 84 }),
    column("bytes", "memory_total_bytes", t("column.total"), 6, { width: 84 }),
    column("percent", "compute_requested_percent", t("column.compute"), 4, { width: 76 }),
    column("count", "shares", t("column.shares"), 5),
    column("text", "driver", t("column.driver"), 7, { width: 84 }),
    column("text", "state_reason", t("column.reason"), 8, { width: 120 }),
  ];
}

export function NodesPage(): JSX.Element {
  return (
    <ListPage<NodeRow> kind="nodes" title={t("nodes.title")} count="count.nodes" filterHint={t("nodes.filter_hint")}
      quick={["ready", "not-ready", "cordoned", "unreadable"].map((state) => ({ label: tOf("node.state.", state), word: `state:${state}` }))}
      columns={columns()} nothingTitle={t("nodes.nothing")} nothing={t("nodes.nothing_why")} link={(row) => nodeLink(row.id)} />
  );
}

export function NodePage({ id }: { id: string }): JSX.Element {
  return (
    <ItemPage<NodeRow> kind="nodes" kindTitle={t("nodes.title")} id={id} title={(node) => <Name text={node.node} />}
      lead={(node) => (
        <p class="lead">
          <State kind="node.state" value={node.state} />
          {node.state_reason && <Name text={node.state_reason} />}
          {node.models && <span class="muted"><Name text={node.models} /></span>}
        </p>
      )}
      action={<ChangeLink />} body={(node, gone) => <Content node={node} gone={gone} />} />
  );
}

function Content({ node, gone }: { node: NodeRow; gone: boolean }): JSX.Element {
  const filters = [`node=${node.node}`];
  return (
    <>
      <section class="panel" aria-label={t("column.node")}><Facts facts={factsOf(node)} /></section>
      <ChangePanel kind="node" item={node} gone={gone} load={() => import("../../changes/cordon_form")} />
      <ShortList<Device> kind="devices" title={t("devices.title")} filters={filters} columns={deviceColumns()}
        nothing={t("devices.nothing")} why={t("nodes.no_devices_why")} draw={(rows) => <Devices rows={rows} />} />
      <ShortList<Share> kind="shares" title={t("shares.title")} filters={filters}
        columns={shareColumns().filter(({ key }) => key !== "node")} nothing={t("shares.nothing")} why={t("nodes.no_shares_why")}
        link={(row) => shareLink(row.id)} />
    </>
  );
}

function factsOf(node: NodeRow): Fact[] {
  return [
    { label: t("devices.title"), value: <Count value={node.devices} /> },
    { label: t("device.state.healthy"), value: <Count value={node.healthy_devices} /> },
    { label: t("fact.total"), value: <Bytes value={node.memory_total_bytes} /> },
    { label: t("column.allocated"), value: <Bytes value={node.memory_limits_bytes} /> },
    { label: t("fact.used_driver"), value: <Bytes value={node.memory_used_bytes} /> },
    { label: t("fact.requested"), value: <Percent value={node.compute_requested_percent} />, hint: t("fact.of_device") },
    { label: t("shares.title"), value: <Count value={node.shares} /> },
    { label: t("column.pool"), value: node.pool ? <Name text={node.pool} /> : <NotKnown /> },
    { label: t("column.driver"), value: node.driver ?? <NotKnown /> },
    { label: t("fact.host_committed"), value: <Bytes value={node.host_committed_bytes} /> },
    { label: t("fact.host_reserve"), value: <Bytes value={node.host_reserve_bytes} /> },
    { label: t("about.loop_late"), value: <Duration value={node.loop_late_ms} /> },
  ];
}

function Devices({ rows }: { rows: Device[] }): JSX.Element {
  return (
    <>
      <ul class="device-rows">
        {[...rows].sort((a, b) => a.index - b.index).map((device) => (
          <li key={device.id}>
            <a class="device-name" href={deviceLink(device.id)}>
              <span class="index figure">{device.index}</span><Name text={modelText(device) || device.id} />
            </a>
            <State kind="device.state" value={device.state} reason={device.state_reason} />
            <DeviceBar device={device} legend={false} />
          </li>
        ))}
      </ul>
      <Legend names={["allocated", "used", "swapped", "other"]} />
    </>
  );
}
