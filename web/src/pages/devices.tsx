// The list of devices.
import type { JSX } from "preact";
import { t, tOf } from "../core/i18n";
import { deviceLink, nodeLink } from "../core/paths";
import { isCluster } from "../data/session";
import type { Device } from "../data/types";
import { computeLabel, Meter } from "../ui/bars";
import { column, memoryColumn } from "../ui/cells";
import { ListPage } from "../ui/list_page";
import type { Column } from "../ui/list_table";
import { Name, NotKnown, State } from "../ui/values";

export function modelText(device: Device): string {
  return (device.model ?? "").replace(/^NVIDIA /, "");
}

export function deviceColumns(): Column<Device>[] {
  const cluster = isCluster();
  return [
    {
      key: "device", title: t("column.device"), width: 150, narrow: 112, grow: 3, rank: 1, sort: "index",
      cell: (row) => (
        <span class="device-name">
          <span class="index figure">{row.index}</span>
          {row.model ? <Name text={modelText(row)} /> : <NotKnown />}
        </span>
      ),
      csv: (row) => row.id,
    },
    column("text", "node", t("column.node"), cluster ? 2 : 6, { width: 90, link: cluster ? (row) => nodeLink(row.node) : undefined }),
    {
      key: "state", title: t("column.state"), width: 96, narrow: 18, wordless: true, rank: 1, sort: "state",
      cell: (row) => <State kind="device.state" value={row.state} reason={row.state_reason} />,
      csv: (row) => row.state,
    },
    ...(cluster ? [column<Device>("text", "pool", t("column.pool"), 6, { width: 80 })] : []),
    memoryColumn(t("column.memory")),
    column("bytes", "memory_used_bytes", t("column.used"), 2, { key: "used", width: 76 }),
    column("bytes", "memory_limits_bytes", t("column.allocated"), 4, { key: "limits", width: 84 }),
    column("bytes", "memory_total_bytes", t("column.total"), 5, { key: "total", width: 84 }),
    {
      key: "compute", title: t("column.compute"), width: 100, grow: 1, rank: 4, sort: "utilisation_percent",
      cell: (row) => (
        <Meter used={row.utilisation_percent} allocated={row.compute_requested_percent} total={100}
          label={computeLabel(row.utilisation_percent, row.compute_requested_percent)} />
      ),
      csv: (row) => row.compute_requested_percent,
    },
    column("percent", "utilisation_percent", t("column.busy"), 3, { key: "utilisation", width: 56 }),
    column("count", "tenants", t("column.shares"), 5, { width: 56 }),
    column("bytes", "memory_swapped_bytes", t("column.swapped"), 7, { key: "swapped" }),
    column("permille", "memory_pressure_permille", t("column.pressure"), 8, { key: "pressure", width: 70 }),
  ];
}

export function DevicesPage(): JSX.Element {
  return (
    <ListPage<Device> kind="devices" title={t("devices.title")} count="count.devices" filterHint={t("devices.filter_hint")}
      quick={["healthy", "faulty", isCluster() ? "cordoned" : "excluded"]
        .map((state) => ({ label: tOf("device.state.", state), word: `state:${state}` }))}
      columns={deviceColumns()} nothingTitle={t("devices.nothing")} nothing={isCluster() ? t("devices.nothing_why_cluster") : t("devices.nothing_why")}
      link={(row) => deviceLink(row.id)} />
  );
}
