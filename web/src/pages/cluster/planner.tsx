// What-if: where the pods of manifests would go, and which pods would be evicted for them.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { t } from "../../core/i18n";
import { podManifest } from "../../core/manifest";
import { deviceLink, filteredLink, nodeLink } from "../../core/paths";
import { parseBytes } from "../../core/units";
import { type ApiFailure, apiPost, failureFrom } from "../../data/api";
import type { PlannedPod } from "../../data/cluster_types";
import { closeSession, session } from "../../data/session";
import { Icon } from "../../ui/icons";
import { SizeForm } from "../../ui/size_form";
import { Failure, Loading, Nothing } from "../../ui/states";
import { Links, Name, NotKnown, Sentence } from "../../ui/values";

// Kept while other pages are shown.
const draft = { manifest: "", namespace: "" };

export function ManifestPlannerPage(): JSX.Element {
  const [manifest, setManifest] = useState(draft.manifest);
  const [plan, setPlan] = useState<PlannedPod[] | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [busy, setBusy] = useState(false);
  const write = (text: string): void => {
    draft.manifest = text;
    setManifest(text);
  };
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy || !allowed || manifest.trim() === "") return;
    setBusy(true);
    setFailure(null);
    try {
      const body = { manifest, ...(draft.namespace ? { namespace: draft.namespace } : {}) };
      setPlan((await apiPost<{ plan: PlannedPod[] }>("plan", body)).plan);
    } catch (error) {
      setPlan(null);
      setFailure(failureFrom(error));
    }
    setBusy(false);
  };
  const allowed = session.value?.can.plan ?? false;
  return (
    <div class="page">
      <header class="page-head"><h1>{t("planner.title")}</h1><p class="count">{t("planner.lead")}</p></header>
      <div class="planner">
        <div class="stack">
          <section class="panel" aria-label={t("planner.form")}>
            <div class="panel-head"><h2>{t("planner.form")}</h2></div>
            <PodForm write={write} />
          </section>
          <SizeForm use={(answer) => write(answer.manifest ?? "")} />
        </div>
        <div class="stack">
          <section class="panel">
            <form class="request" onSubmit={(event) => void ask(event)}>
              <label class="field">
                <span>{t("planner.manifest")}</span>
                <textarea rows={14} spellcheck={false} value={manifest} onInput={(event) => write(event.currentTarget.value)} placeholder={t("planner.paste")} />
              </label>
              <div class="fields">
                <label class="field">
                  <span>{t("column.namespace")}</span>
                  <input defaultValue={draft.namespace} onInput={(event) => { draft.namespace = event.currentTarget.value.trim(); }} placeholder="default" maxLength={63} />
                </label>
                {allowed && <button type="submit" class="button primary" disabled={busy}>{t("planner.submit")}</button>}
              </div>
              {!allowed && <NotAllowed />}
            </form>
          </section>
          {allowed && <section class="panel" aria-label={t("planner.answer")} aria-live="polite">
            <div class="panel-head"><h2>{t("planner.answer")}</h2></div>
            {busy ? <Loading rows={3} /> : failure ? <Failure failure={failure} />
              : plan ? <Plan pods={plan} /> : <Nothing title={t("planner.no_manifest")}>{t("planner.no_manifest_why")}</Nothing>}
          </section>}
        </div>
      </div>
    </div>
  );
}

// Instead of the button: what a viewer needs for it.
function NotAllowed(): JSX.Element {
  if (session.value?.way_in !== "console-token") return <p class="notice"><Icon name="info" />{t("explain.not_allowed")}</p>;
  return (
    <p class="notice" id="planner-needs">
      <Icon name="info" />
      <span>
        {t("planner.needs_token")}{" "}
        <button type="button" class="button small" onClick={() => void closeSession()}>{t("planner.other_token")}</button>
      </span>
    </p>
  );
}

function PodForm({ write }: { write(text: string): void }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const [wrong, setWrong] = useState(false);
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const values = new FormData(form.current ?? undefined);
    const text = (name: string): string => String(values.get(name) ?? "");
    const isWrong = text("memory").trim() !== "" && parseBytes(text("memory")) === null;
    setWrong(isWrong);
    if (isWrong) return;
    write(podManifest({ memory: text("memory"), cores: text("cores"), devices: text("devices"), model: text("model") }));
  };
  return (
    <form class="request" ref={form} onSubmit={onSubmit}>
      <label class="field">
        <span>{t("field.memory")}</span>
        <input name="memory" placeholder="16Gi" maxLength={20} aria-invalid={wrong} aria-describedby={wrong ? "memory-wrong" : undefined} />
        {wrong && <span class="field-error" id="memory-wrong" role="alert">{t("field.memory_wrong")}</span>}
      </label>
      <label class="field"><span>{t("field.cores")}</span><input name="cores" type="number" min={0} max={100} placeholder="30" /></label>
      <label class="field"><span>{t("field.gpus")}</span><input name="devices" type="number" min={1} max={64} defaultValue="1" /></label>
      <label class="field"><span>{t("field.model")}</span><input name="model" placeholder="H100" maxLength={100} /></label>
      <button type="submit" class="button">{t("planner.write")}</button>
    </form>
  );
}

function Plan({ pods }: { pods: PlannedPod[] }): JSX.Element {
  if (pods.length === 0) return <Nothing title={t("planner.no_pods")} />;
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={t("planner.answer")}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("fact.pod")}</th><th scope="col">{t("column.answer")}</th><th scope="col">{t("column.node")}</th>
            <th scope="col">{t("column.evicted")}</th><th scope="col">{t("column.devices")}</th>
          </tr>
        </thead>
        <tbody>{pods.map((pod, at) => <PlanRow key={at} pod={pod} />)}</tbody>
      </table>
    </div>
  );
}

function PlanRow({ pod: { pod, fits, node, devices, ended, why, idle } }: { pod: PlannedPod }): JSX.Element {
  const [tone, icon, text] = idle ? ["neutral", "info", ""] as const : fits && ended?.length ? ["waiting", "warning", t("planner.after_evictions")] as const : fits ? ["good", "ok", t("explain.fits")] as const
    : ["waiting", "warning", t("explain.waits")] as const;
  return (
    <tr>
      <th scope="row"><Name text={pod} /></th>
      <td>
        {fits == null && !idle ? <NotKnown /> : <span class={`state tone-${tone}`}><Icon name={icon} /><span>{text}</span></span>}{" "}
        {(idle || why) && <Sentence text={idle || why || ""} />}
      </td>
      <td>{node && <a href={nodeLink(node)}><Name text={node} /></a>}</td>
      <td><Links names={ended} link={(victim) => filteredLink("shares", `name=${victim}`)} /></td>
      <td><Links names={devices} link={(uuid) => (node ? deviceLink(`${node}/${uuid}`) : "devices")} /></td>
    </tr>
  );
}
