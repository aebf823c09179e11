// The first page: what there is, what is allocated, used and idle; each device; what needs attention.
import type { JSX } from "preact";
import { t, tn, tOf } from "../core/i18n";
import { safeLink } from "../core/paths";
import { formatBytes, formatNumber, formatPercent, type Maybe, ratioPercent } from "../core/units";
import { overviewModel } from "../data/overview";
import { hasHistory, isCluster, limitedScope } from "../data/session";
import type { Overview } from "../data/types";
import { Fleet } from "../ui/fleet";
import { useRevalidation } from "../ui/fresh";
import { type ChartPlan, History } from "../ui/history";
import { Icon, type IconName } from "../ui/icons";
import { Failure, Freshness, Loading, Nothing } from "../ui/states";
import { Count, NotKnown, Sentence } from "../ui/values";

// The first three are always shown.
const kWaitingKinds = ["waits-for-room", "waits-for-quota", "never-fits", "held", "unscheduled"];

export function OverviewPage(): JSX.Element {
  const model = overviewModel();
  useRevalidation(model);
  const overview = model.item.value;
  return (
    <div class="page">
      <header class="page-head">
        <h1>{t("overview.title")}</h1>
        {overview && <p class="count figure">{[summaryOf(overview), limitedScope() && t("scope.of_seen")].filter(Boolean).join(", ")}</p>}
      </header>
      <Freshness dataTime={model.dataTime.value} sources={model.sources.value} />
      {model.state.value === "loading" && <Loading rows={8} />}
      {model.state.value === "failed" && model.failure.value && (
        <Failure failure={model.failure.value} retry={() => model.refresh()} />
      )}
      {overview && <Content overview={overview} />}
    </div>
  );
}

function summaryOf({ funnel, nodes }: Overview): string {
  if (funnel.devices == null) return "";
  const devices = (nodes == null || limitedScope()?.nodes === false ? "" : `${tn("count.nodes", nodes)}, `) + tn("count.devices", funnel.devices);
  if (funnel.healthy_devices == null || funnel.healthy_devices === funnel.devices) return devices;
  return `${devices}, ${t("overview.unhealthy", { n: funnel.devices - funnel.healthy_devices })}`;
}

function Content({ overview }: { overview: Overview }): JSX.Element {
  const { funnel } = overview;
  const devices = (percent: number): string => t("unit.devices", { n: formatNumber(percent / 100, 1) });
  return (
    <>
      <div class="grid-3">
        <Funnel title={t("overview.memory")} unit="bytes" amounts={funnel.memory} format={formatBytes}
          idleHint={t("overview.idle_memory_hint")} note={overcommitNote(overview)} />
        <Funnel title={t("overview.compute")} unit="percent" amounts={funnel.compute} format={devices}
          idleHint={t("overview.idle_compute_hint")} note={null} />
        <Counts overview={overview} />
      </div>
      <div class="grid-2-1">
        <Fleet />
        <Attention items={overview.attention} />
      </div>
      {hasHistory() && <History of="overview:all" charts={charts(funnel.memory)} />}
    </>
  );
}

function overcommitNote({ overcommit }: Overview): string | null {
  const part = ratioPercent(overcommit?.limits_bytes, overcommit?.physical_bytes);
  return part !== null && part > 100.5 ? t("overview.overcommit", { percent: formatPercent(part) }) : null;
}

// Sums of a viewer with limited rights are of less than the cluster.
function OfSeen(): JSX.Element | null {
  return limitedScope() && <span class="muted">{t("scope.of_seen")}</span>;
}

interface FunnelProps {
  title: string;
  unit: string;
  amounts: Record<string, Maybe<number>>;
  idleHint: string;
  note: string | null;
  format(value: number): string;
}

function Funnel({ title, unit, amounts, format, idleHint, note }: FunnelProps): JSX.Element {
  const total = amounts[`total_${unit}`];
  const scale = Math.max(total ?? 0, amounts[`allocated_${unit}`] ?? 0);
  const rows = [
    { key: "total", label: t("funnel.total") },
    { key: "allocated", label: t("funnel.allocated") },
    { key: "used", label: t("funnel.used") },
    { key: "idle", label: t("funnel.idle"), hint: idleHint },
  ].filter(({ key }) => !isCluster() || amounts[`${key}_${unit}`] != null);
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head"><h2>{title}</h2><OfSeen /></div>
      <table class="funnel">
        <thead class="sr-only">
          <tr><th>{t("column.what")}</th><th>{t("column.amount")}</th><th>{t("column.of_total")}</th><th /></tr>
        </thead>
        <tbody>
          {rows.map(({ key, label, hint }) => {
            const value = amounts[`${key}_${unit}`];
            const part = ratioPercent(value, total);
            return (
              <tr key={key} title={hint}>
                <th scope="row">{label}</th>
                <td class="amount figure strong">{value == null ? <NotKnown /> : format(value)}</td>
                <td class="amount figure muted">{key === "total" || part === null ? "" : formatPercent(part)}</td>
                <td class="funnel-bar" aria-hidden="true">
                  <span class={`bar bar-${key}`} style={{ width: `${ratioPercent(value, scale) ?? 0}%` }} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {note && <p class="note">{note}</p>}
    </section>
  );
}

interface CountRow {
  key: string;
  value: Maybe<number>;
  link: string;
  tone?: string;
  label?: string;
}

// The kinds of waiting are never added up: what waits for room may fit soon, what never fits will not.
function clusterCounts({ shares, waiting_kinds: kinds }: Overview): CountRow[] {
  const states = ["running", "pending", "ending"].map((key) => ({ key, value: shares?.[key], link: `shares?filter=state:${key}` }));
  const waiting = kWaitingKinds.filter((kind, at) => at < 3 || kinds?.[kind]).map((kind) => ({
    key: kind, value: kinds?.[kind], link: `waiting?filter=kind:${kind}`, tone: kind === "never-fits" ? "broken" : "waiting",
    label: tOf("waiting.kind.", kind),
  }));
  return [...states, ...waiting];
}

function Counts({ overview }: { overview: Overview }): JSX.Element {
  const shares = overview.shares;
  const rows: CountRow[] = isCluster() ? clusterCounts(overview) : [
    { key: "running", value: shares?.running, link: "shares?filter=state:running" },
    { key: "idle", value: shares?.idle, link: "shares?sort=-idle_ms" },
    { key: "throttled", value: shares?.throttled, link: "shares?sort=-throttled_permille" },
    { key: "swapped", value: shares?.swapped, link: "shares?sort=-swapped_bytes" },
    { key: "waiting", value: overview.waiting, link: "waiting", tone: "waiting" },
    { key: "never_fit", value: overview.never_fit, link: "waiting?filter=kind:never-fits", tone: "broken" },
  ];
  return (
    <section class="panel" aria-label={t("overview.shares")}>
      <div class="panel-head"><h2>{t("overview.shares")}</h2><OfSeen /></div>
      <ul class="counts">
        {rows.map(({ key, value, link, tone, label }) => (
          <li key={key}>
            <a href={link} class={tone && value ? `tone-${tone}` : undefined}>
              <span class="counts-value"><Count value={value} /></span>
              <span class="counts-label">{label ?? tOf("overview.count.", key)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Attention({ items }: { items: Overview["attention"] }): JSX.Element {
  const icons: Record<string, IconName> = { critical: "critical", warning: "warning", info: "info" };
  const tones: Record<string, string> = { critical: "broken", warning: "waiting", info: "neutral" };
  return (
    <section class="panel" aria-label={t("attention.title")}>
      <div class="panel-head">
        <h2>{t("attention.title")}</h2>
        {items && items.length > 0 && <span class="badge figure">{items.length}</span>}
      </div>
      {items === undefined ? <NotKnown /> : items.length === 0 ? (
        <Nothing title={t("attention.none")}>{limitedScope() ? t("scope.only_seen") : t("attention.none_why")}</Nothing>
      ) : (
        <ul class="attention">
          {items.map((item, index) => {
            const link = safeLink(item.link);
            const body = <Sentence text={item.text} />;
            return (
              <li key={`${item.code}-${item.link ?? index}`}>
                <span class={`sign tone-${tones[item.severity] ?? "neutral"}`}>
                  <Icon name={icons[item.severity] ?? "info"} />
                  <span class="sr-only">{tOf("severity.", item.severity)}</span>
                </span>
                <div>
                  <p class="attention-code">{tOf("attention.code.", item.code)}</p>
                  {link ? <a href={link}>{body}</a> : <p>{body}</p>}
                </div>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

function charts({ total_bytes: total, used_bytes: used }: Overview["funnel"]["memory"]): ChartPlan[] {
  const cluster = isCluster();
  return [
    {
      title: t("chart.memory"), bytes: true, top: total, format: formatBytes,
      lines: [
        ...(cluster && used == null ? [] : [{ what: "memory_used_bytes", label: t("legend.used"), tone: "used" } as const]),
        { what: "memory_limits_bytes", label: t("legend.allocated"), tone: "allocated" },
      ],
    },
    cluster ? {
      title: `${t("shares.title")}, ${t("waiting.title")}`, format: (value) => formatNumber(value),
      lines: [
        { what: "tenants", label: t("shares.title"), tone: "used" }, { what: "waiting", label: t("waiting.title"), tone: "waiting" },
      ],
    } : {
      title: t("chart.utilisation"), top: 1000, format: (value) => formatPercent(value / 10),
      lines: [{ what: "utilisation_permille", label: t("chart.of_devices"), tone: "used" }],
    },
  ];
}
