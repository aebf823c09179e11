// The forms of changes of a share: resize, priority; of its pod: notice, evict.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Change, isResized, noticeText, resizeOf, shareValues, stepped } from "../core/changes";
import { t, tOf } from "../core/i18n";
import { formatBytes, parseBytes } from "../core/units";
import { isCluster } from "../data/session";
import type { Share } from "../data/types";
import { PrioritySelect } from "../ui/priority_select";
import { Name } from "../ui/values";
import { AskButton, AskForm, type Flow, Outcome, useFlow } from "./flow";

const kOfShares = ["resize", "priority"] as const;
const kOfPods = ["notice", "evict"] as const;
type What = (typeof kOfShares)[number] | (typeof kOfPods)[number];

interface PartProps {
  share: Share;
  flow: Flow;
}

export function Form({ item: share, gone }: { item: Share; gone: boolean }): JSX.Element {
  const [what, setWhat] = useState<What>("resize");
  const flow = useFlow();
  const pod = share.namespace && share.pod ? `${share.namespace}/${share.pod}` : "";
  const Part = { resize: Resize, priority: Priority, notice: Notice, evict: Evict }[what];
  const { state } = flow;
  const to = state.step === "finished" ? state.change.to : undefined;
  const show = (next: What): void => {
    flow.clear();
    setWhat(next);
  };
  return (
    <>
      {!gone && (
        <>
          <div class="segments" role="group" aria-label={t("change.what")}>
            {[...kOfShares, ...(isCluster() && pod ? kOfPods : [])].map((each) => (
              <button type="button" key={each} aria-pressed={what === each} onClick={() => show(each)}>{tOf("change.", each)}</button>
            ))}
          </div>
          <Part share={share} flow={flow} />
        </>
      )}
      <Outcome flow={flow} isDangerous={what === "evict"} confirm={what === "evict" && <>{t("change.evict")} <Name text={pod} /></>}
        isReached={what === "priority" ? share.priority === to?.priority : what === "resize" ? isResized(share, to) : gone} />
    </>
  );
}

const kSteps = [-4, -1, 1, 4]; // GiB

function Resize({ share, flow }: PartProps): JSX.Element {
  const now = shareValues(share);
  const [memory, setMemory] = useState<string | null>(null); // null: as it is now
  const [cores, setCores] = useState<string | null>(null);
  useEffect(() => { // what was changed has arrived
    if (memory === now.memory) setMemory(null);
    if (cores === now.cores) setCores(null);
  }, [now.memory, now.cores]);
  const values = { memory: memory ?? now.memory, cores: cores ?? now.cores };
  const isWrong = values.memory !== "" && parseBytes(values.memory) === null;
  const change = (): Change | null => {
    const to = resizeOf(values, now);
    return to && { what: "resize", target: { share: share.id }, to };
  };
  const step = (text: string | null): void => {
    flow.clear();
    setMemory(text);
  };
  return (
    <AskForm flow={flow} isWrong={isWrong} change={change}>
      <div class="fields">
        <label class="field">
          <span>{t("field.memory")}</span>
          <input value={values.memory} onInput={(event) => setMemory(event.currentTarget.value)} aria-invalid={isWrong} placeholder="8Gi"
            maxLength={20} aria-describedby="change-now" />
        </label>
        <div class="segments" role="group" aria-label={t("change.steps")}>
          {kSteps.map((gibi) => {
            const next = stepped(values.memory, gibi);
            return <button type="button" key={gibi} disabled={next === null} onClick={() => step(next)}>{gibi < 0 ? "−" : "+"}{Math.abs(gibi)} GiB</button>;
          })}
        </div>
        <label class="field">
          <span>{t("field.cores")}</span>
          <input type="number" min={1} max={100} step="any" value={values.cores} onInput={(event) => setCores(event.currentTarget.value)} />
        </label>
        <AskButton />
      </div>
      <p class="note" id="change-now">{nowText(share)}</p>
      {isWrong && <p class="field-error" role="alert">{t("field.memory_wrong")}</p>}
    </AskForm>
  );
}

// What each device has of the share, and the largest use.
function nowText(share: Share): string {
  const parts = share.devices?.length ? share.devices : [share];
  const limit = parts[0]?.limit_bytes;
  const used = parts.map((part) => part.used_bytes);
  const most = used.reduce<number>((max, bytes) => Math.max(max, bytes ?? 0), 0);
  return [
    limit == null ? "" : t("change.now_limit", { limit: formatBytes(limit) }),
    used.every((bytes) => bytes != null) ? t("change.now_used", { used: formatBytes(most) }) : "",
  ].join(" ");
}

function Priority({ share, flow }: PartProps): JSX.Element {
  const [chosen, setChosen] = useState<string | null>(null);
  const priority = chosen ?? share.priority ?? "";
  const change = (): Change | null => (priority === share.priority ? null : { what: "priority", target: { share: share.id }, to: { priority } });
  return <AskForm flow={flow} change={change}><div class="fields"><PrioritySelect value={priority} change={setChosen} /><AskButton /></div></AskForm>;
}

function Notice({ share, flow }: PartProps): JSX.Element {
  const [text, setText] = useState("");
  const change = (): Change => ({ what: "notice", target: { pod: `${share.namespace}/${share.pod}` }, to: { text: noticeText(text) } });
  return (
    <AskForm flow={flow} change={change}>
      <label class="field">
        <span>{t("change.notice_text")}</span>
        <textarea rows={2} required maxLength={500} value={text} onInput={(event) => setText(event.currentTarget.value)} aria-describedby="notice-hint" />
      </label>
      <p class="note" id="notice-hint">{t("change.notice_hint")}</p>
      <p class="buttons"><AskButton /></p>
    </AskForm>
  );
}

function Evict({ share, flow }: PartProps): JSX.Element {
  return (
    <AskForm flow={flow} change={() => ({ what: "evict", target: { pod: `${share.namespace}/${share.pod}` } })}>
      <div class="fields"><p class="hint">{t("change.evict_hint")}</p><AskButton /></div>
    </AskForm>
  );
}
