// The list of shares.
import type { JSX } from "preact";
import { t, tOf } from "../core/i18n";
import { shareLink } from "../core/paths";
import type { Share } from "../data/types";
import { Meter, meterLabel } from "../ui/bars";
import { ListPage } from "../ui/list_page";
import type { Column } from "../ui/list_table";
import { Bytes, Duration, Name, NotKnown, Percent, Permille, State } from "../ui/values";

function columns(): Column<Share>[] {
  return [
    {
      key: "name", title: t("column.share"), width: 150, narrow: 108, grow: 3, rank: 1, sort: "name",
      cell: (row) => <Name text={row.name || row.id} />, csv: (row) => row.name,
    },
    {
      key: "state", title: t("column.state"), width: 104, narrow: 18, wordless: true, rank: 1, sort: "state",
      cell: (row) => <State kind="share.state" value={row.state} />, csv: (row) => row.state,
    },
    {
      key: "priority", title: t("column.priority"), width: 66, rank: 6, sort: "priority",
      cell: (row) => (row.priority ? tOf("priority.", row.priority) : <NotKnown />), csv: (row) => row.priority,
    },
    {
      key: "devices", title: t("column.devices"), width: 70, rank: 5,
      cell: (row) => (row.devices ? <span class="figure">{row.devices.map((each) => each.index ?? "?").join(", ")}</span> : <NotKnown />),
      csv: (row) => row.devices?.map((each) => each.id).join(" "),
    },
    {
      key: "memory", title: t("column.memory_of_limit"), width: 112, narrow: 70, grow: 2, rank: 1, sort: "used_bytes",
      cell: (row) => (
        <Meter used={row.resident_bytes ?? row.used_bytes} allocated={row.limit_bytes} swapped={row.swapped_bytes}
          total={row.limit_bytes} label={meterLabel(row.used_bytes, row.limit_bytes, row.limit_bytes)} />
      ),
      csv: (row) => row.resident_bytes,
    },
    {
      key: "used", title: t("column.used"), width: 76, rank: 2, amount: true, sort: "used_bytes",
      cell: (row) => <Bytes value={row.used_bytes} />, csv: (row) => row.used_bytes,
    },
    {
      key: "limit", title: t("column.limit"), width: 76, rank: 4, amount: true, sort: "limit_bytes",
      cell: (row) => <Bytes value={row.limit_bytes} />, csv: (row) => row.limit_bytes,
    },
    {
      key: "swapped", title: t("column.swapped"), width: 80, rank: 6, amount: true, sort: "swapped_bytes",
      cell: (row) => <Bytes value={row.swapped_bytes} />, csv: (row) => row.swapped_bytes,
    },
    {
      key: "cores", title: t("column.cores"), width: 62, rank: 4, amount: true, sort: "cores_percent",
      cell: (row) => <Percent value={row.cores_percent} />, csv: (row) => row.cores_percent,
    },
    {
      key: "usage", title: t("column.got"), width: 56, rank: 3, amount: true, sort: "usage_permille",
      cell: (row) => <Permille value={row.usage_permille} />, csv: (row) => row.usage_permille,
    },
    {
      key: "throttled", title: t("column.throttled"), width: 74, rank: 5, amount: true, sort: "throttled_permille",
      cell: (row) => <Permille value={row.throttled_permille} />, csv: (row) => row.throttled_permille,
    },
    {
      key: "idle", title: t("column.idle_for"), width: 84, rank: 7, amount: true, sort: "idle_ms",
      cell: (row) => <Duration value={row.idle_ms} />, csv: (row) => row.idle_ms,
    },
    {
      key: "node", title: t("column.node"), width: 84, grow: 1, rank: 8, sort: "node",
      cell: (row) => <Name text={row.node} />, csv: (row) => row.node,
    },
  ];
}

export function SharesPage(): JSX.Element {
  return (
    <ListPage<Share> kind="shares" title={t("shares.title")} count="count.shares" filterHint={t("shares.filter_hint")}
      quick={[
        { label: t("share.state.running"), word: "state:running" },
        { label: t("share.state.reserved"), word: "state:reserved" },
        { label: t("share.state.broken"), word: "state:broken" },
        { label: t("priority.high"), word: "priority:high" },
      ]}
      columns={columns()} nothingTitle={t("shares.nothing")}
      nothing={<><p>{t("shares.nothing_why")}</p><pre class="command">divvy run --memory 8Gi -- COMMAND</pre></>}
      link={(row) => shareLink(row.id)} />
  );
}
