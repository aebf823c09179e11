// What-if: where a request would fit.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../core/i18n";
import { requestFrom, requestOf, requestParams } from "../core/request_options";
import { parseBytes } from "../core/units";
import { params, setParams } from "../data/router";
import type { ExplainRequest } from "../data/types";
import { PrioritySelect } from "../ui/priority_select";
import { Explain } from "../ui/explain";
import { SizeForm } from "../ui/size_form";
import { Nothing } from "../ui/states";

export function PlannerPage(): JSX.Element {
  const request = requestFrom(params.value);
  const asked = Object.keys(request).length > 0;
  return (
    <div class="page">
      <header class="page-head"><h1>{t("planner.title")}</h1><p class="count">{t("planner.lead")}</p></header>
      <div class="planner">
        <div class="stack">
          <section class="panel" aria-label={t("planner.request")}>
            <div class="panel-head"><h2>{t("planner.request")}</h2></div>
            <RequestForm request={request} />
          </section>
          <SizeForm use={(answer) => setParams(requestParams(requestOf(answer)), false)} />
        </div>
        <section class="panel" aria-label={t("planner.answer")}>
          <div class="panel-head"><h2>{t("planner.answer")}</h2></div>
          {asked ? <Explain request={request} onTry={(next) => setParams(requestParams(next), false)} /> : (
            <Nothing title={t("planner.nothing")}>{t("planner.nothing_why")}</Nothing>
          )}
        </section>
      </div>
    </div>
  );
}

function RequestForm({ request }: { request: ExplainRequest }): JSX.Element {
  const [memory, setMemory] = useState(request.memory ?? "");
  const [cores, setCores] = useState(request.cores?.toString() ?? "");
  const [gpus, setGpus] = useState(request.gpus?.toString() ?? "1");
  const [priority, setPriority] = useState(request.priority ?? "normal");
  const [model, setModel] = useState(request.model ?? "");
  const key = JSON.stringify(request);
  useEffect(() => {
    // A fix that was tried, or the browser's back, fills the form.
    if (request.memory !== undefined) setMemory(request.memory);
    if (request.cores !== undefined) setCores(String(request.cores));
    if (request.gpus !== undefined) setGpus(String(request.gpus));
    if (request.priority !== undefined) setPriority(request.priority);
    if (request.model !== undefined) setModel(request.model);
  }, [key]);
  const wrong = memory.trim() !== "" && parseBytes(memory) === null && !/^\d+%$/.test(memory.trim());
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (wrong) return;
    const next = new URLSearchParams({ memory: memory.trim(), cores, gpus: gpus || "1", priority, model });
    setParams(requestParams(requestFrom(next)), false);
  };
  return (
    <form class="request" onSubmit={onSubmit}>
      <label class="field">
        <span>{t("field.memory")}</span>
        <input value={memory} onInput={(event) => setMemory(event.currentTarget.value)} placeholder="16Gi" maxLength={20}
          aria-invalid={wrong} aria-describedby={wrong ? "memory-wrong" : undefined} />
        {wrong && <span class="field-error" id="memory-wrong" role="alert">{t("field.memory_wrong")}</span>}
      </label>
      <label class="field">
        <span>{t("field.cores")}</span>
        <input type="number" min={0} max={100} value={cores} onInput={(event) => setCores(event.currentTarget.value)} placeholder="30" />
      </label>
      <label class="field">
        <span>{t("field.gpus")}</span>
        <input type="number" min={1} max={64} value={gpus} onInput={(event) => setGpus(event.currentTarget.value)} />
      </label>
      <PrioritySelect value={priority} change={setPriority} />
      <label class="field">
        <span>{t("field.model")}</span>
        <input value={model} onInput={(event) => setModel(event.currentTarget.value)} placeholder="H100" maxLength={100} />
      </label>
      <button type="submit" class="button primary">{t("planner.submit")}</button>
    </form>
  );
}
