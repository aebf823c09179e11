// Workloads by owner, and one workload: its shares, and its pods that wait.
import type { JSX } from "preact";
import { t } from "../../core/i18n";
import { filteredLink, queueLink, shareLink, waitingLink, workloadLink } from "../../core/paths";
import type { Workload } from "../../data/cluster_types";
import type { Share, Waiting } from "../../data/types";
import { column, memoryColumn } from "../../ui/cells";
import { ItemPage } from "../../ui/item_page";
import { ListPage } from "../../ui/list_page";
import { ShortList } from "../../ui/short_list";
import { Bytes, Count, Facts, Name, NotKnown, Percent, Sentence } from "../../ui/values";
import { shareColumns } from "../shares";
import { waitingColumns } from "./waiting";

const linkOf = (row: Workload): string => workloadLink(row.namespace, `${row.kind}/${row.name}`);

export function WorkloadsPage(): JSX.Element {
  return (
    <ListPage<Workload> kind="workloads" title={t("workloads.title")} count="count.workloads" filterHint={t("list.filter_hint")}
      nothingTitle={t("workloads.nothing")} nothing={t("workloads.nothing_why")} link={linkOf} columns={[
        column("text", "name", t("column.name"), 1, { width: 130, grow: 2 }),
        column("text", "kind", t("column.kind"), 2),
        column("text", "namespace", t("column.namespace"), 2),
        memoryColumn(t("column.memory_of_limit")),
        column("bytes", "memory_used_bytes", t("column.used"), 3),
        column("bytes", "memory_limits_bytes", t("column.limit"), 4),
        column("percent", "compute_requested_percent", t("column.cores"), 5),
        column("count", "devices", t("column.devices"), 5),
        column("count", "pods", t("column.pods"), 3),
        column("count", "waiting", t("waiting.title"), 2),
        column("text", "queue", t("column.queue"), 6, { link: (row) => queueLink(row.queue ?? "") }),
        column("text", "team", t("column.team"), 7),
        column("text", "models", t("column.model_served"), 8),
      ]} />
  );
}

export function WorkloadPage({ id }: { id: string }): JSX.Element {
  return (
    <ItemPage<Workload> kind="workloads" kindTitle={t("workloads.title")} id={id} title={(row) => <Name text={row.name} />}
      lead={(row) => <p class="lead"><Name text={row.kind} /><span class="muted">{t("column.namespace")} <Name text={row.namespace} /></span></p>}
      body={(row) => <Content row={row} />} />
  );
}

function Content({ row }: { row: Workload }): JSX.Element {
  const owner = `${row.kind}/${row.name}`;
  const filters = [`namespace=${row.namespace}`, `owner=${owner}`];
  return (
    <>
      <section class="panel" aria-label={owner}>
        <Facts facts={[
          { label: t("column.pods"), value: <Count value={row.pods} /> },
          { label: t("waiting.title"), value: <Count value={row.waiting} /> },
          { label: t("column.devices"), value: <Count value={row.devices} /> },
          { label: t("fact.limit"), value: <Bytes value={row.memory_limits_bytes} /> },
          { label: t("fact.used"), value: <Bytes value={row.memory_used_bytes} /> },
          { label: t("fact.requested"), value: <Percent value={row.compute_requested_percent} />, hint: t("fact.of_device") },
          { label: t("column.queue"), value: row.queue ? <a href={queueLink(row.queue)}><Name text={row.queue} /></a> : <NotKnown /> },
          { label: t("column.team"), value: row.team ? <a href={filteredLink("teams", `name=${row.team}`)}><Name text={row.team} /></a> : <NotKnown /> },
          { label: t("column.model_served"), value: row.models ? <Sentence text={row.models} /> : <NotKnown />, wide: true },
          { label: t("column.image"), value: row.images ? <Sentence text={row.images} /> : <NotKnown />, wide: true },
        ]} />
      </section>
      <ShortList<Waiting> kind="waiting" title={t("waiting.title")} filters={filters} columns={waitingColumns()}
        nothing={t("waiting.nothing_pod")} link={(each) => waitingLink(each.id)} />
      <ShortList<Share> kind="shares" title={t("shares.title")} filters={filters}
        columns={shareColumns().filter(({ key }) => !["owner", "team", "queue"].includes(key))}
        nothing={t("shares.nothing")} link={(each) => shareLink(each.id)} />
    </>
  );
}
