// Events as a table on the page of the object that they are about.
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { t } from "../core/i18n";
import { ListModel } from "../data/list_model";
import { isCluster } from "../data/session";
import type { EventRow } from "../data/types";
import { EmptyList, Failure, Loading } from "./states";
import { Ago, Sentence } from "./values";

const kShown = 20;

interface RecentEventsProps {
  filter: string;
}

export function RecentEvents({ filter }: RecentEventsProps): JSX.Element {
  const model = useMemo(() => new ListModel<EventRow>("events", kShown), [filter]);
  useEffect(() => {
    model.setQuery({ filters: [filter] });
    return () => model.dispose();
  }, [model, filter]);
  const events = model.rows.value.slice(0, kShown);
  const all = new URLSearchParams({ filter });
  return (
    <section class="panel" aria-labelledby="events-title">
      <div class="panel-head">
        <h2 id="events-title">{t("events.title")}</h2>
        {events.length > 0 && <a href={`events?${all}`}>{t("events.all")}</a>}
      </div>
      {model.state.value === "loading" && <Loading rows={3} />}
      {model.state.value === "failed" && model.failure.value && <Failure failure={model.failure.value} />}
      {model.state.value === "ready" && events.length === 0 && <NoEvents filter={filter} />}
      {events.length > 0 && (
        <ol class="event-list">
          {events.map((event) => (
            <li key={event.id}>
              <Ago at={event.time_ms} />
              <EventKind kind={event.kind} />
              <span class="event-text"><Sentence text={event.text} /></span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

export function NoEvents({ filter = "" }: { filter?: string }): JSX.Element {
  return <EmptyList list="events" filters={[filter]} title={t("events.none")}>{isCluster() ? t("events.none_cluster") : t("events.none_why")}</EmptyList>;
}

const kKindTones: Record<string, string> = {
  given: "good", ended: "idle", changed: "neutral", "swapped-out": "swapped", "swapped-in": "swapped", refused: "waiting",
  faulty: "broken", broken: "broken", stopped: "waiting",
};

export function EventKind({ kind }: { kind: string }): JSX.Element {
  return <span class={`tag kind tone-${kKindTones[kind] ?? "neutral"}`}>{kind}</span>;
}
