// One share: why it is slow, figures, devices, processes, history, events, changes.
import type { JSX } from "preact";
import { t, tOf } from "../core/i18n";
import { visibleText } from "../core/names";
import { deviceLink, filteredLink, queueLink, waitingLink, workloadLink } from "../core/paths";
import { formatBytes, formatDuration, formatPercent, type Maybe } from "../core/units";
import { isCluster } from "../data/session";
import type { Share } from "../data/types";
import { Meter, meterLabel } from "../ui/bars";
import { column, partColumns, statedColumns } from "../ui/cells";
import { ChangeLink, ChangePanel } from "../ui/change_panel";
import { RecentEvents } from "../ui/event_list";
import { type ChartPlan, History } from "../ui/history";
import { Icon } from "../ui/icons";
import { ItemPage } from "../ui/item_page";
import type { Column } from "../ui/list_table";
import { RowTable } from "../ui/short_list";
import { Nothing } from "../ui/states";
import { CopyButton } from "../ui/toolbar";
import { Ago, Bytes, Count, Duration, type Fact, Facts, isKnown, Name, NodeName, NotKnown, Percent, Permille, Sentence, State } from "../ui/values";

export function SharePage({ id }: { id: string }): JSX.Element {
  return (
    <ItemPage<Share> kind="shares" kindTitle={t("shares.title")} id={id}
      title={(share) => <Name text={share.name || share.id} />}
      lead={(share) => (
        <p class="lead">
          <State kind="share.state" value={share.state} />
          {share.priority && <span>{t("share.priority", { priority: tOf("priority.", share.priority) })}</span>}
          <NodeName node={share.node} />
          {share.note && <span class="muted"><Name text={share.note} /></span>}
        </p>
      )}
      action={<ChangeLink />} body={(share, gone) => <Content share={share} gone={gone} />} />
  );
}

function Content({ share, gone }: { share: Share; gone: boolean }): JSX.Element {
  const pod = `${share.namespace}/${share.pod}`;
  const facts = (all: Fact[]): Fact[] => (isCluster() ? all.filter(isKnown) : all);
  return (
    <>
      {isCluster() && <PodPanel share={share} />}
      <Warnings share={share} />
      <SlowReasons share={share} />
      <div class="grid-2">
        <section class="panel" aria-labelledby="share-memory-title">
          <div class="panel-head"><h2 id="share-memory-title">{t("overview.memory")}</h2></div>
          <div class="wide-meter">
            <Meter used={share.resident_bytes ?? share.used_bytes} allocated={share.limit_bytes} swapped={share.swapped_bytes}
              total={share.limit_bytes} label={meterLabel(share.used_bytes, share.limit_bytes, share.limit_bytes)} />
          </div>
          <Facts facts={facts(memoryFacts(share))} />
        </section>
        <section class="panel" aria-labelledby="share-compute-title">
          <div class="panel-head"><h2 id="share-compute-title">{t("overview.compute")}</h2></div>
          <Facts facts={facts(computeFacts(share))} />
        </section>
      </div>
      <ChangePanel kind="share" item={share} gone={gone} load={() => import("../changes/share_form")} />
      <section class="panel" aria-labelledby="share-devices-title">
        <div class="panel-head"><h2 id="share-devices-title">{t("devices.title")}</h2></div>
        <ShareDevices share={share} />
      </section>
      {isCluster() ? <RecentEvents filter={`name=${pod}`} /> : (
        <>
          <section class="panel" aria-labelledby="process-title">
            <div class="panel-head"><h2 id="process-title">{t("share.process")}</h2></div>
            <Process share={share} />
          </section>
          <History of={`share:${share.id}`} charts={charts(share)} />
          <RecentEvents filter={`share:${share.id}`} />
        </>
      )}
    </>
  );
}

// What a share of a cluster belongs to.
function PodPanel({ share }: { share: Share }): JSX.Element {
  const { namespace, owner, queue, team, model_served: model } = share;
  const linked = (text: Maybe<string>, link: (text: string) => string): JSX.Element =>
    (text ? <a href={link(text)}><Name text={text} /></a> : <NotKnown />);
  return (
    <section class="panel" aria-label={t("fact.pod")}>
      <Facts facts={[
        { label: t("column.namespace"), value: linked(namespace, (text) => filteredLink("shares", `namespace=${text}`)) },
        { label: t("fact.pod"), value: linked(share.pod, () => waitingLink(`${namespace}/${share.pod}`)) },
        { label: t("fact.container"), value: share.container ? <Name text={share.container} /> : <NotKnown /> },
        { label: t("column.owner"), value: linked(owner, (text) => workloadLink(namespace ?? "", text)) },
        { label: t("column.queue"), value: linked(queue, queueLink) },
        { label: t("column.team"), value: linked(team, (text) => filteredLink("teams", `name=${text}`)) },
        { label: t("column.model_served"), value: linked(model, (text) => filteredLink("models", `name=${text}`)) },
        { label: t("fact.processes"), value: <Count value={share.processes} /> },
        { label: t("fact.created"), value: <Ago at={share.created_ms} /> },
        { label: t("column.image"), value: share.image ? <Sentence text={share.image} /> : <NotKnown />, wide: true },
      ].filter(isKnown)} />
    </section>
  );
}

function Warnings({ share }: { share: Share }): JSX.Element | null {
  const texts: string[] = [];
  if (share.stop_state) {
    texts.push(share.stop_left_ms == null ? t("share.stopping", { state: share.stop_state })
      : t("share.stopping_in", { state: share.stop_state, time: formatDuration(share.stop_left_ms) }));
  }
  if (share.bypass) texts.push(t("share.bypass", { text: share.bypass }));
  if (share.usage_mismatch) texts.push(t("share.mismatch"));
  if (share.lent_to) texts.push(t("share.lent", { name: share.lent_to }));
  if (texts.length === 0) return null;
  return (
    <div class="notices">
      {texts.map((text) => <p class="notice tone-waiting" key={text}><Icon name="warning" /><Sentence text={text} /></p>)}
    </div>
  );
}

function SlowReasons({ share }: { share: Share }): JSX.Element {
  const reasons = share.slow_reasons;
  return (
    <section class="panel slow" aria-labelledby="slow-title">
      <div class="panel-head"><h2 id="slow-title">{t("share.slow")}</h2></div>
      {reasons == null ? <p>{isCluster() ? t("share.slow_cluster") : <><NotKnown /> {t("share.slow_unknown")}</>}</p> : reasons.length === 0 ? (
        <p class="all-good"><span class="tone-good"><Icon name="ok" /></span>{t("share.not_slow")}</p>
      ) : (
        <ol class="reasons">{reasons.map((reason) => <li key={reason}><Sentence text={reason} /></li>)}</ol>
      )}
    </section>
  );
}

function memoryFacts(share: Share): Fact[] {
  const state = share.memory_state
    ? `${tOf("memory.state.", share.memory_state)}${share.memory_reason ? ` (${tOf("memory.reason.", share.memory_reason)})` : ""}` : null;
  return [
    { label: t("fact.limit"), value: <Bytes value={share.limit_bytes} /> },
    { label: t("fact.guaranteed"), value: <Bytes value={share.guaranteed_bytes} /> },
    { label: t("fact.used"), value: <Bytes value={share.used_bytes} /> },
    { label: t("fact.resident"), value: <Bytes value={share.resident_bytes} /> },
    { label: t("fact.swapped"), value: <Bytes value={share.swapped_bytes} /> },
    { label: t("fact.pinned"), value: <Bytes value={share.pinned_bytes} /> },
    { label: t("fact.memory_state"), value: state ?? <NotKnown />, wide: true },
    { label: t("fact.swaps"), value: <Count value={share.swaps} /> },
    { label: t("fact.refused"), value: <Count value={share.refused_allocations} /> },
    { label: t("fact.pressure_waits"), value: <Count value={share.pressure_waits} /> },
  ];
}

function computeFacts(share: Share): Fact[] {
  const kernel = share.longest_kernel_us;
  return [
    { label: t("fact.cores"), value: <Percent value={share.cores_percent} />, hint: t("fact.of_device") },
    { label: t("fact.got"), value: <Permille value={share.usage_permille} />, hint: t("fact.of_device") },
    { label: t("fact.throttled"), value: <Permille value={share.throttled_permille} />, hint: t("fact.throttled_hint") },
    { label: t("fact.throttled_total"), value: <Duration value={share.throttled_ms} /> },
    { label: t("fact.weight"), value: <Percent value={share.weight_percent} /> },
    { label: t("fact.mode"), value: share.mode ?? <NotKnown /> },
    { label: t("fact.backend"), value: share.backend ?? <NotKnown /> },
    { label: t("fact.policy"), value: share.cores_policy ?? <NotKnown /> },
    { label: t("fact.idle"), value: <Duration value={share.idle_ms} /> },
    { label: t("fact.longest_wait"), value: <Duration value={share.longest_wait_ms} /> },
    { label: t("fact.longest_kernel"), value: <Duration value={kernel == null ? null : kernel / 1000} /> },
    { label: t("fact.launch_waits"), value: <Count value={share.launch_waits} /> },
    { label: t("fact.overhead"), value: <Permille value={share.overhead_cpu_permille} /> },
  ];
}

function ShareDevices({ share: { devices } }: { share: Share }): JSX.Element {
  if (devices == null) return <p><NotKnown /></p>;
  if (devices.length === 0) return <Nothing title={t("share.no_devices")} />;
  const columns: Column<(typeof devices)[number]>[] = [
    {
      key: "device", title: t("column.device"), width: 0, rank: 1,
      cell: (device) => <>{device.index ?? ""} <Name text={(device.model ?? device.id).replace(/^NVIDIA /, "")} /></>,
    },
    ...partColumns<(typeof devices)[number]>(),
    column("bytes", "swap_in_bytes_per_s", t("column.swap_in"), 1), column("bytes", "swap_out_bytes_per_s", t("column.swap_out"), 1),
  ];
  return <RowTable rows={devices} label={t("devices.title")} columns={statedColumns(columns, devices)} link={(device) => deviceLink(device.id)} />;
}

function Process({ share }: { share: Share }): JSX.Element {
  const command = share.command?.join(" ");
  const facts: Fact[] = [
    { label: t("fact.pid"), value: share.pid == null ? <NotKnown /> : <span class="figure">{share.pid}</span> },
    { label: t("fact.processes"), value: <Count value={share.processes} /> },
    { label: t("fact.created"), value: <Ago at={share.created_ms} /> },
    { label: t("fact.checkpoint"), value: share.checkpoint ? tOf("checkpoint.", share.checkpoint) : <NotKnown /> },
    { label: t("fact.id"), value: <code class="wrap">{share.id}</code> },
  ];
  return (
    <>
      {command ? (
        <div class="command-line">
          <pre class="command" tabIndex={0} role="group" aria-label={t("share.command")}>{visibleText(command)}</pre>
          <CopyButton text={() => command} label={t("action.copy")} />
        </div>
      ) : <p><NotKnown why={t("share.command_unknown")} /> {t("share.command")}</p>}
      <Facts facts={facts} />
    </>
  );
}

function charts(share: Share): ChartPlan[] {
  return [
    {
      title: t("chart.memory"), bytes: true, top: share.limit_bytes, format: formatBytes,
      lines: [
        { what: "memory_resident_bytes", label: t("legend.resident"), tone: "used" },
        { what: "memory_limit_bytes", label: t("legend.limit"), tone: "allocated" },
        { what: "memory_swapped_bytes", label: t("legend.swapped"), tone: "swapped" },
      ],
    },
    {
      title: t("chart.compute_of_share"), top: 1000, format: (value) => formatPercent(value / 10),
      lines: [
        { what: "usage_permille", label: t("chart.got"), tone: "used" },
        { what: "throttled_permille", label: t("chart.throttled"), tone: "waiting" },
      ],
    },
  ];
}
