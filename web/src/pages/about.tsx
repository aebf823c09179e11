// Versions, the console's own state, configuration, licences.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t, tOf } from "../core/i18n";
import { ApiFailure, apiGet, failureFrom, isAborted } from "../data/api";
import { isCluster, session } from "../data/session";
import type { About, Licence } from "../data/types";
import { Failure, Loading } from "../ui/states";
import { Ago, Bytes, Count, Duration, Facts, NotKnown } from "../ui/values";

export function AboutPage(): JSX.Element {
  const [about, setAbout] = useState<About | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const read = (signal?: AbortSignal): void => {
    setFailure(null);
    apiGet<About>("about", undefined, signal).then(setAbout, (error) => {
      if (!isAborted(error)) setFailure(failureFrom(error));
    });
  };
  useEffect(() => {
    const abort = new AbortController();
    read(abort.signal);
    return () => abort.abort();
  }, []);
  return (
    <div class="page">
      <header class="page-head"><h1>{t("about.title")}</h1></header>
      {failure && <Failure failure={failure} retry={() => read()} />}
      {!failure && !about && <Loading />}
      {about && <div class="stack"><Versions about={about} /><Health about={about} /><Configuration about={about} /><Licences /></div>}
    </div>
  );
}

function Versions({ about }: { about: About }): JSX.Element {
  const current = session.value;
  return (
    <section class="panel" aria-labelledby="version-title">
      <div class="panel-head"><h2 id="version-title">{t("about.version")}</h2></div>
      <Facts facts={[
        { label: t("about.version"), value: about.version ?? <NotKnown /> },
        { label: t("about.commit"), value: about.commit ? <code>{about.commit.slice(0, 12)}</code> : <NotKnown /> },
        { label: isCluster() ? t("about.cluster") : t("column.node"), value: current?.node ?? <NotKnown /> },
        { label: t("about.user"), value: current?.user ?? <NotKnown /> },
        { label: t("about.way_in"), value: tOf("way_in.", current?.way_in) || <NotKnown /> },
        { label: t("about.changes"), value: current?.changes.enabled ? t("value.on") : t("value.off") },
      ]} />
    </section>
  );
}

function Health({ about }: { about: About }): JSX.Element {
  const health = about.health;
  const history = health?.history;
  return (
    <section class="panel" aria-labelledby="health-title">
      <div class="panel-head"><h2 id="health-title">{t("about.health")}</h2></div>
      <Facts facts={[
        { label: t("about.loop_late"), value: <Duration value={health?.loop_late_ms} /> },
        { label: t("about.streams"), value: <Count value={health?.streams} /> },
        { label: t("about.sessions"), value: <Count value={health?.sessions} /> },
        { label: t("about.history_state"), value: history?.state ? tOf("history.state.", history.state) : <NotKnown /> },
        { label: t("about.history_size"), value: <Bytes value={history?.bytes} /> },
        { label: t("about.history_limit"), value: <Bytes value={history?.limit_bytes} /> },
        { label: t("about.history_series"), value: <Count value={history?.series} /> },
        { label: t("about.history_from"), value: <Ago at={history?.from_ms} /> },
        { label: t("about.history_dropped"), value: <Count value={history?.dropped_points} /> },
      ]} />
    </section>
  );
}

function Configuration({ about }: { about: About }): JSX.Element {
  const rows = about.configuration ?? [];
  return (
    <section class="panel" aria-labelledby="configuration-title">
      <div class="panel-head"><h2 id="configuration-title">{t("about.configuration")}</h2></div>
      {rows.length === 0 ? <p><NotKnown /></p> : (
        <table class="plain narrow">
          <thead><tr><th scope="col">{t("column.name")}</th><th scope="col">{t("column.value")}</th></tr></thead>
          <tbody>
            {rows.map(({ name, value }) => (
              <tr key={name}><th scope="row"><code>{name}</code></th><td>{value == null ? <NotKnown /> : <code class="wrap">{String(value)}</code>}</td></tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

// Read when the list is opened: it is part of the page's files.
function Licences(): JSX.Element {
  const [list, setList] = useState<Licence[] | null>(null);
  const [failed, setFailed] = useState(false);
  const open = (): void => {
    if (list) return;
    setFailed(false);
    fetch(new URL("assets/licences.json", document.baseURI)).then((answer) => answer.json() as Promise<Licence[]>).then(setList, () => setFailed(true));
  };
  return (
    <section class="panel" aria-labelledby="licence-title">
      <div class="panel-head"><h2 id="licence-title">{t("about.licences")}</h2></div>
      <details onToggle={open}>
        <summary>{t("about.of_this_page")}</summary>
        {failed && <Failure failure={new ApiFailure("unreachable", "", 0)} retry={open} />}
        <ul class="licences">
          {list?.map(({ name, licence, text }) => (
            <li key={name}><details><summary>{name} <span class="muted">{licence}</span></summary><pre tabIndex={0}>{text}</pre></details></li>
          ))}
        </ul>
      </details>
      <p>{t("about.of_the_program")} <code class="wrap">/usr/share/doc/divvy/third-party-licences</code></p>
    </section>
  );
}
