// The list of devices.
import type { JSX } from "preact";
import { t } from "../core/i18n";
import { deviceLink } from "../core/paths";
import type { Device } from "../data/types";
import { computeLabel, Meter, meterLabel } from "../ui/bars";
import { ListPage } from "../ui/list_page";
import type { Column } from "../ui/list_table";
import { Bytes, Count, Name, NotKnown, Percent, Permille, State } from "../ui/values";

export function modelText(device: Device): string {
  return (device.model ?? "").replace(/^NVIDIA /, "");
}

function columns(): Column<Device>[] {
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
    {
      key: "node", title: t("column.node"), width: 90, grow: 1, rank: 6, sort: "node",
      cell: (row) => <Name text={row.node} />, csv: (row) => row.node,
    },
    {
      key: "state", title: t("column.state"), width: 96, narrow: 18, wordless: true, rank: 1, sort: "state",
      cell: (row) => <State kind="device.state" value={row.state} reason={row.state_reason} />,
      csv: (row) => row.state,
    },
    {
      key: "memory", title: t("column.memory"), width: 100, narrow: 72, grow: 2, rank: 1, sort: "memory_used_bytes",
      cell: (row) => (
        <Meter used={row.memory_used_bytes} allocated={row.memory_limits_bytes} total={row.memory_total_bytes}
          label={meterLabel(row.memory_used_bytes, row.memory_limits_bytes, row.memory_total_bytes)} level />
      ),
      csv: (row) => row.memory_used_bytes,
    },
    {
      key: "used", title: t("column.used"), width: 76, rank: 2, amount: true, sort: "memory_used_bytes",
      cell: (row) => <Bytes value={row.memory_used_bytes} />,
      csv: (row) => row.memory_used_bytes,
    },
    {
      key: "limits", title: t("column.allocated"), width: 84, rank: 4, amount: true, sort: "memory_limits_bytes",
      cell: (row) => <Bytes value={row.memory_limits_bytes} />, csv: (row) => row.memory_limits_bytes,
    },
    {
      key: "total", title: t("column.total"), width: 84, rank: 5, amount: true, sort: "memory_total_bytes",
      cell: (row) => <Bytes value={row.memory_total_bytes} />, csv: (row) => row.memory_total_bytes,
    },
    {
      key: "compute", title: t("column.compute"), width: 100, grow: 1, rank: 4, sort: "utilisation_percent",
      cell: (row) => (
        <Meter used={row.utilisation_percent} allocated={row.compute_requested_percent} total={100}
          label={computeLabel(row.utilisation_percent, row.compute_requested_percent)} />
      ),
      csv: (row) => row.compute_requested_percent,
    },
    {
      key: "utilisation", title: t("column.busy"), width: 56, rank: 3, amount: true, sort: "utilisation_percent",
      cell: (row) => <Percent value={row.utilisation_percent} />, csv: (row) => row.utilisation_percent,
    },
    {
      key: "tenants", title: t("column.shares"), width: 56, rank: 5, amount: true, sort: "tenants",
      cell: (row) => <Count value={row.tenants} />, csv: (row) => row.tenants,
    },
    {
      key: "swapped", title: t("column.swapped"), width: 80, rank: 7, amount: true, sort: "memory_swapped_bytes",
      cell: (row) => <Bytes value={row.memory_swapped_bytes} />, csv: (row) => row.memory_swapped_bytes,
    },
    {
      key: "pressure", title: t("column.pressure"), width: 70, rank: 8, amount: true, sort: "memory_pressure_permille",
      cell: (row) => <Permille value={row.memory_pressure_permille} />, csv: (row) => row.memory_pressure_permille,
    },
  ];
}

export function DevicesPage(): JSX.Element {
  return (
    <ListPage<Device> kind="devices" title={t("devices.title")} count="count.devices" filterHint={t("devices.filter_hint")}
      quick={[
        { label: t("device.state.healthy"), word: "state:healthy" },
        { label: t("device.state.faulty"), word: "state:faulty" },
        { label: t("device.state.excluded"), word: "state:excluded" },
      ]}
      columns={columns()} nothingTitle={t("devices.nothing")} nothing={t("devices.nothing_why")}
      link={(row) => deviceLink(row.id)} />
  );
}
