// What a page shows where it has no data: loading, nothing, not allowed, failed, gone; and how old data is.
import type { ComponentChildren, JSX } from "preact";
import { t, tn, tOf } from "../core/i18n";
import { type Collection, kRights, namespacesOf } from "../core/scope";
import { formatDuration, type Maybe } from "../core/units";
import type { ApiFailure } from "../data/api";
import { nowMs } from "../data/clock";
import { connection } from "../data/live";
import { hiddenFor, limitedScope } from "../data/session";
import type { SourceState } from "../data/types";
import { Icon } from "./icons";
import { Ago, Name, Sentence } from "./values";

const kMaxSilent = 3; // sources that are named
export const kOldMs = 10_000;
const kAgeStepMs = 5000; // a live region speaks at most this often

export function Loading({ rows = 6 }: { rows?: number }): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="sr-only">{t("state.loading")}</span>
      {Array.from({ length: rows }, (_, index) => <span key={index} class="skeleton" />)}
    </div>
  );
}

export function Nothing({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="nothing">
      <p class="nothing-title">{title}</p>
      {children && <div class="nothing-text">{children}</div>}
    </div>
  );
}

// That a collection may not be listed, or in some namespaces only, and what to ask for.
export function Hidden({ collection }: { collection: Collection }): JSX.Element {
  const names = namespacesOf(collection, limitedScope());
  return <p>{names ? tn(`hidden.${collection}`, names.length) : tOf("hidden.", collection)} <Ask collection={collection} /></p>;
}

function Ask({ collection }: { collection: Collection }): JSX.Element {
  return <>{t("scope.ask")} <code class="figure">{kRights[collection]}</code></>;
}

interface EmptyListProps {
  list: string; // of the API
  filters?: string[];
  title: string;
  children?: ComponentChildren;
}

// An empty list of the API: the viewer's rights may be the reason.
export function EmptyList({ list, filters, title, children }: EmptyListProps): JSX.Element {
  const hidden = hiddenFor(list, filters);
  if (!hidden) return <Nothing title={title}>{children}</Nothing>;
  return list === "nodes" ? <Nothing title={t("scope.no_nodes")}><p><Ask collection={hidden} /></p></Nothing>
    : <Nothing title={title}><Hidden collection={hidden} /></Nothing>;
}

export function failureTitle({ code }: ApiFailure): string {
  const titles: Record<string, string> = {
    forbidden: t("failure.forbidden"), "not-found": t("failure.not_found"), usage: t("failure.usage"),
    unreachable: t("failure.unreachable"), busy: t("failure.busy"), unavailable: t("failure.unavailable"),
  };
  return titles[code] ?? t("failure.other");
}

// Whether a second try cannot help.
export const isFinal = ({ status }: ApiFailure): boolean => [400, 403, 404].includes(status);

// A failed request, by its code. `retry` is offered where a second try can help.
export function Failure({ failure, retry }: { failure: ApiFailure; retry?: () => void }): JSX.Element {
  const final = isFinal(failure);
  return (
    <div class="nothing" role="alert">
      <p class="nothing-title"><Icon name={final ? "info" : "warning"} />{failureTitle(failure)}</p>
      <div class="nothing-text">
        <p>{failure.message || t("failure.no_words")}</p>
        {failure.accepted.length > 0 && <p>{t("failure.accepted", { list: failure.accepted.join(", ") })}</p>}
        {retry && !final && <button type="button" class="button" onClick={retry}>{t("action.retry")}</button>}
      </div>
    </div>
  );
}

interface FreshnessProps {
  dataTime: Maybe<number>;
  sources: SourceState[];
}

// Above the page's content: how old the data is when that is over 10 s, and which sources do not answer.
export function Freshness({ dataTime, sources }: FreshnessProps): JSX.Element | null {
  const age = dataTime == null ? 0 : nowMs.value - dataTime;
  const silent = sources.filter((source) => source.state !== "ok");
  if (age <= kOldMs && silent.length === 0 && connection.value !== "lost") return null;
  return (
    <div class="notices">
      {connection.value === "lost" && <p class="notice tone-broken" role="status"><Icon name="critical" />{t("fresh.lost")}</p>}
      {age > kOldMs && (
        <p class="notice tone-waiting" role="status"><Icon name="warning" />{t("fresh.old", { age: formatDuration(Math.floor(age / kAgeStepMs) * kAgeStepMs) })}</p>
      )}
      {silent.slice(0, kMaxSilent).map((source) => (
        <p class="notice tone-waiting" key={source.node}>
          <Icon name="warning" />
          <span>
            <Name text={source.node} />{" "}
            {source.state === "never-reached" ? t("fresh.never_reached") : t("fresh.unreachable")}
            {source.since_ms != null && <>{" "}<Ago at={source.since_ms} /></>}
            {source.message ? <>: <Sentence text={source.message} /></> : ""}
          </span>
        </p>
      ))}
      {silent.length > kMaxSilent && (
        <p class="notice tone-waiting"><Icon name="warning" />{t("fresh.more", { n: silent.length - kMaxSilent })}</p>
      )}
    </div>
  );
}
