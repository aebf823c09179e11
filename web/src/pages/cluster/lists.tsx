// Pools, teams and models: lists that lead to the devices and shares of a row.
import type { JSX } from "preact";
import { t } from "../../core/i18n";
import { filteredLink } from "../../core/paths";
import { formatNumber, type Maybe } from "../../core/units";
import type { Pool, ServedModel, Team } from "../../data/cluster_types";
import { column, memoryColumn } from "../../ui/cells";
import { ListPage } from "../../ui/list_page";
import { Name, NotKnown } from "../../ui/values";

// An empty list of namespaces means any.
function Namespaces({ names }: { names: Maybe<string[]> }): JSX.Element {
  return names == null ? <NotKnown /> : names.length === 0 ? <span class="muted">{t("value.any")}</span> : <Name text={names.join(", ")} />;
}

export function PoolsPage(): JSX.Element {
  return (
    <ListPage<Pool> kind="pools" title={t("pools.title")} count="count.pools" filterHint={t("list.filter_hint")}
      nothingTitle={t("pools.nothing")} nothing={t("pools.nothing_why")}
      link={(row) => filteredLink("devices", `pool=${row.name}`)} columns={[
        column("text", "name", t("column.pool"), 1, { width: 130, grow: 2 }),
        column("count", "devices", t("column.devices"), 2),
        column("count", "free_devices", t("column.free_devices"), 3, { width: 90 }),
        memoryColumn(t("column.memory_allocated"), "memory_limits_bytes"),
        column("bytes", "memory_limits_bytes", t("column.allocated"), 4),
        column("bytes", "memory_total_bytes", t("column.total"), 5),
        column("bytes", "largest_free_bytes", t("column.largest_free"), 3, { width: 110 }),
        column("percent", "compute_requested_percent", t("column.compute"), 6, { width: 76 }),
        column("count", "shares", t("column.shares"), 6),
        column("count", "nodes", t("nodes.title"), 7),
        column("text", "namespaces", t("column.namespaces"), 5, { cell: (row) => <Namespaces names={row.namespaces} /> }),
      ]} />
  );
}

export function TeamsPage(): JSX.Element {
  return (
    <ListPage<Team> kind="teams" title={t("teams.title")} count="count.teams" filterHint={t("list.filter_hint")}
      nothingTitle={t("teams.nothing")} nothing={t("teams.nothing_why")}
      link={(row) => filteredLink("shares", `team=${row.name}`)} columns={[
        column("text", "name", t("column.team"), 1, { width: 130, grow: 2 }),
        column("count", "devices", t("column.devices"), 2, {
          cell: (row) => (row.devices == null ? <NotKnown /> : <span class="figure">{formatNumber(row.devices, 1)}</span>),
        }),
        memoryColumn(t("column.memory_of_limit")),
        column("bytes", "memory_used_bytes", t("column.used"), 3),
        column("bytes", "memory_limits_bytes", t("column.allocated"), 4),
        column("percent", "compute_requested_percent", t("column.compute"), 6, { width: 76 }),
        column("count", "shares", t("column.shares"), 5),
        column("count", "waiting", t("waiting.title"), 3),
        column("text", "namespaces", t("column.namespaces"), 4, { width: 120 }),
      ]} />
  );
}

export function ModelsPage(): JSX.Element {
  return (
    <ListPage<ServedModel> kind="models" title={t("models.title")} count="count.models" filterHint={t("list.filter_hint")}
      nothingTitle={t("models.nothing")} nothing={t("models.nothing_why")}
      link={(row) => filteredLink("shares", `model_served=${row.name}`)} columns={[
        column("text", "name", t("column.model_served"), 1, { width: 180, narrow: 130, grow: 3 }),
        column("count", "shares", t("column.shares"), 1),
        column("bytes", "memory_limits_bytes", t("column.allocated"), 2),
        column("text", "source", t("column.source"), 4, { width: 130 }),
        column("text", "namespaces", t("column.namespaces"), 3),
        column("text", "nodes", t("nodes.title"), 5),
        column("text", "images", t("column.image"), 6, { width: 160, grow: 2 }),
      ]} />
  );
}
