// Changes of a share: first what a change would do (dry run), then a second step that applies it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t, tOf } from "../core/i18n";
import { bytesOption, parseBytes } from "../core/units";
import { type ApiFailure, apiPost, failureFrom } from "../data/api";
import { session } from "../data/session";
import type { ChangeAnswer, Share } from "../data/types";
import { Icon } from "./icons";
import { Failure } from "./states";
import { Sentence } from "./values";

type What = "resize" | "priority" | "stop";

interface Change {
  what: What;
  target: { share: string };
  to: Record<string, string | number>;
}

export function ChangeForm({ share }: { share: Share }): JSX.Element {
  const current = session.value;
  const allowed = current?.changes.enabled && current.can.change;
  return (
    <section class="panel" aria-labelledby="change-title">
      <div class="panel-head"><h2 id="change-title">{t("change.title")}</h2></div>
      {allowed ? <Form share={share} key={share.id} /> : (
        <p class="muted">
          {current?.changes.enabled ? t("change.not_allowed") : t("change.off")}
          {!current?.changes.enabled && current?.changes.how ? ` ${t("change.how", { how: current.changes.how })}` : ""}
        </p>
      )}
    </section>
  );
}

function Form({ share }: { share: Share }): JSX.Element {
  const [what, setWhat] = useState<What>("resize");
  const [memory, setMemory] = useState(share.limit_bytes == null ? "" : bytesOption(share.limit_bytes));
  const [cores, setCores] = useState(share.cores_percent == null ? "" : String(share.cores_percent));
  const [priority, setPriority] = useState(share.priority ?? "normal");
  const [plan, setPlan] = useState<{ change: Change; answer: ChangeAnswer } | null>(null);
  const [done, setDone] = useState<ChangeAnswer | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  useEffect(() => setPlan(null), [what, memory, cores, priority]);
  const wrongMemory = memory !== "" && parseBytes(memory) === null;

  const post = async (change: Change, dryRun: boolean): Promise<void> => {
    setFailure(null);
    setDone(null);
    try {
      const answer = await apiPost<ChangeAnswer>("changes", { ...change, dry_run: dryRun });
      if (dryRun) setPlan({ change, answer });
      else setDone(answer);
      if (!dryRun) setPlan(null);
    } catch (error) {
      setFailure(failureFrom(error));
    }
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (!wrongMemory) void post({ what, target: { share: share.id }, to: valuesOf(what, memory, cores, priority) }, true);
  };
  return (
    <form class="change" onSubmit={onSubmit}>
      <div class="fields">
        <label class="field">
          <span>{t("change.what")}</span>
          <select value={what} onChange={(event) => setWhat(event.currentTarget.value as What)}>
            <option value="resize">{t("change.resize")}</option>
            <option value="priority">{t("change.priority")}</option>
            <option value="stop">{t("change.stop")}</option>
          </select>
        </label>
        {what === "resize" && (
          <>
            <label class="field">
              <span>{t("field.memory")}</span>
              <input value={memory} onInput={(event) => setMemory(event.currentTarget.value)} aria-invalid={wrongMemory}
                placeholder="8Gi" maxLength={20} />
            </label>
            <label class="field">
              <span>{t("field.cores")}</span>
              <input type="number" min={0} max={100} value={cores} onInput={(event) => setCores(event.currentTarget.value)} />
            </label>
          </>
        )}
        {what === "priority" && <PrioritySelect value={priority} change={setPriority} />}
        <button type="submit" class="button">{t("change.dry_run")}</button>
      </div>
      {wrongMemory && <p class="field-error" role="alert">{t("field.memory_wrong")}</p>}
      {failure && <Failure failure={failure} />}
      {plan && <Effects answer={plan.answer} apply={() => void post(plan.change, false)} cancel={() => setPlan(null)} />}
      {done && <p class="notice tone-good" role="status"><Icon name="ok" />{done.refused ? done.refused.message : t("change.done")}</p>}
    </form>
  );
}

function valuesOf(what: What, memory: string, cores: string, priority: string): Change["to"] {
  if (what === "priority") return { priority };
  if (what === "stop") return {};
  return { ...(memory ? { memory } : {}), ...(cores ? { cores: Number(cores) } : {}) };
}

export function PrioritySelect({ value, change }: { value: string; change(value: string): void }): JSX.Element {
  return (
    <label class="field">
      <span>{t("column.priority")}</span>
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        {["high", "normal", "low"].map((name) => <option key={name} value={name}>{tOf("priority.", name)}</option>)}
      </select>
    </label>
  );
}

interface EffectsProps {
  answer: ChangeAnswer;
  apply(): void;
  cancel(): void;
}

function Effects({ answer, apply, cancel }: EffectsProps): JSX.Element {
  if (answer.refused) {
    return (
      <p class="notice tone-broken" role="status"><Icon name="critical" />
        <span>{t("change.refused")} {answer.refused.message} <code>{answer.refused.code}</code></span>
      </p>
    );
  }
  return (
    <div class="effects" role="status">
      <p>{t("change.effects")}</p>
      <ul>{(answer.effects ?? []).map((effect) => <li key={effect}><Sentence text={effect} /></li>)}</ul>
      <button type="button" class="button primary" onClick={apply}>{t("change.apply")}</button>
      <button type="button" class="button quiet" onClick={cancel}>{t("action.cancel")}</button>
    </div>
  );
}
