// The list of shares.
import type { JSX } from "preact";
import { t, tOf } from "../core/i18n";
import { nodeLink, queueLink, shareLink, workloadLink } from "../core/paths";
import { isCluster } from "../data/session";
import type { Share } from "../data/types";
import { Meter, meterLabel } from "../ui/bars";
import { column } from "../ui/cells";
import { ListPage } from "../ui/list_page";
import type { Column } from "../ui/list_table";
import { EndOfName, Name, NotKnown, State } from "../ui/values";

export function shareColumns(): Column<Share>[] {
  return [
    {
      key: "name", title: t("column.share"), width: 150, narrow: 108, grow: 3, rank: 1, sort: "name",
      cell: (row) => (isCluster() ? <EndOfName text={row.name || row.id} /> : <Name text={row.name || row.id} />), csv: (row) => row.name,
    },
    {
      key: "state", title: t("column.state"), width: 104, narrow: 18, wordless: true, rank: 1, sort: "state",
      cell: (row) => <State kind="share.state" value={row.state} />, csv: (row) => row.state,
    },
    ...(isCluster() ? clusterColumns() : []),
    column("text", "priority", t("column.priority"), 6, {
      width: 66, grow: undefined, cell: (row) => (row.priority ? tOf("priority.", row.priority) : <NotKnown />),
    }),
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
    column("bytes", "used_bytes", t("column.used"), 2, { key: "used", width: 76 }),
    column("bytes", "limit_bytes", t("column.limit"), 4, { key: "limit", width: 76 }),
    column("bytes", "swapped_bytes", t("column.swapped"), 6, { key: "swapped" }),
    column("percent", "cores_percent", t("column.cores"), 4, { key: "cores", width: 62 }),
    column("permille", "usage_permille", t("column.got"), 3, { key: "usage", width: 56 }),
    column("permille", "throttled_permille", t("column.throttled"), isCluster() ? 9 : 5, { key: "throttled", width: 74 }),
    column("duration", "idle_ms", t("column.idle_for"), 7, { key: "idle" }),
    column("text", "node", t("column.node"), isCluster() ? 4 : 8, { width: 84, link: isCluster() ? (row) => nodeLink(row.node) : undefined }),
  ];
}

function clusterColumns(): Column<Share>[] {
  return [
    column("text", "owner", t("column.owner"), 5, { width: 120, link: (row) => workloadLink(row.namespace ?? "", row.owner ?? "") }),
    column("text", "queue", t("column.queue"), 6, { width: 80, link: (row) => queueLink(row.queue ?? "") }),
    column("text", "team", t("column.team"), 7, { width: 80 }),
    column("text", "model_served", t("column.model_served"), 8),
  ];
}

export function SharesPage(): JSX.Element {
  const cluster = isCluster();
  const states = cluster ? ["running", "pending", "ending"] : ["running", "reserved", "broken"];
  return (
    <ListPage<Share> kind="shares" title={t("shares.title")} count="count.shares"
      filterHint={cluster ? t("shares.filter_hint_cluster") : t("shares.filter_hint")}
      quick={[
        ...states.map((state) => ({ label: tOf("share.state.", state), word: `state:${state}` })),
        ...(cluster ? [] : [{ label: t("priority.high"), word: "priority:high" }]),
      ]}
      columns={shareColumns()} nothingTitle={t("shares.nothing")}
      nothing={cluster ? <p>{t("shares.nothing_why_cluster")}</p>
        : <><p>{t("shares.nothing_why")}</p><pre class="command">divvy run --memory 8Gi -- COMMAND</pre></>}
      link={(row) => shareLink(row.id)} />
  );
}
