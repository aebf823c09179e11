// Where a request would fit, device by device, and what would help. Used by Waiting and by the planner.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t, tOf } from "../core/i18n";
import { deviceLink, shareLink } from "../core/paths";
import { applyFix, commandOf } from "../core/request_options";
import { type ApiFailure, apiPost, failureFrom, isAborted } from "../data/api";
import { session } from "../data/session";
import type { ExplainAnswer, ExplainRequest } from "../data/types";
import { Icon } from "./icons";
import { Failure, Loading, Nothing } from "./states";
import { CopyButton } from "./toolbar";
import { Bytes, Name, NotKnown, Sentence } from "./values";

interface ExplainProps {
  request: ExplainRequest;
  onTry(request: ExplainRequest): void; // a changed request
}

const kMaxRows = 50;

export function Explain({ request, onTry }: ExplainProps): JSX.Element {
  const [answer, setAnswer] = useState<ExplainAnswer | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const key = JSON.stringify(request);
  const allowed = session.value?.can.plan ?? false;
  useEffect(() => {
    if (!allowed) return;
    const abort = new AbortController();
    setFailure(null);
    apiPost<ExplainAnswer>("explain", request, abort.signal).then(setAnswer, (error) => {
      if (isAborted(error) || abort.signal.aborted) return;
      setAnswer(null);
      setFailure(failureFrom(error));
    });
    return () => abort.abort();
  }, [key, allowed]);
  if (!allowed) return <Nothing title={t("failure.forbidden")}>{t("explain.not_allowed")}</Nothing>;
  if (failure) return <Failure failure={failure} />;
  if (!answer) return <Loading rows={4} />;
  return (
    <div class="explain">
      <Verdict answer={answer} />
      <DeviceTable answer={answer} />
      <Fixes answer={answer} request={request} onTry={onTry} />
      <Victims answer={answer} />
      <div class="command-line">
        <pre class="command" tabIndex={0} role="group" aria-label={t("explain.command")}>{commandOf(request)}</pre>
        <CopyButton text={() => commandOf(request)} label={t("action.copy")} />
      </div>
    </div>
  );
}

function Verdict({ answer }: { answer: ExplainAnswer }): JSX.Element {
  const [tone, icon, text] = answer.fits == null ? ["neutral", "info", t("value.not_known")] as const
    : answer.fits ? ["good", "ok", t("explain.fits")] as const
      : answer.impossible ? ["broken", "critical", t("explain.never")] as const
        : ["waiting", "warning", t("explain.waits")] as const;
  return (
    <div class={`verdict tone-${tone}`} role="status">
      <p class="verdict-title"><Icon name={icon} />{text}</p>
      {answer.summary && <p class="verdict-text"><Sentence text={answer.summary} /></p>}
    </div>
  );
}

function DeviceTable({ answer }: { answer: ExplainAnswer }): JSX.Element | null {
  const devices = answer.devices;
  if (!devices || devices.length === 0) return null;
  return (
    <table class="plain explain-devices">
      <thead>
        <tr><th scope="col">{t("column.device")}</th><th scope="col">{t("column.answer")}</th></tr>
      </thead>
      <tbody>
        {devices.slice(0, kMaxRows).map((device) => (
          <tr key={device.uuid ?? device.device}>
            <th scope="row">
              <span class="device-name">
                <span class="index figure">{device.device}</span>
                {device.uuid ? <a href={deviceLink(device.uuid)}><Name text={(device.model ?? device.uuid).replace(/^NVIDIA /, "")} /></a>
                  : <Name text={device.model ?? ""} />}
              </span>
            </th>
            <td>
              {device.given ? <span class="state tone-good"><Icon name="ok" />{t("explain.given")}</span>
                : device.refusal ? <Sentence text={device.refusal} /> : <span class="muted">{t("explain.not_needed")}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Fixes({ answer, request, onTry }: ExplainProps & { answer: ExplainAnswer }): JSX.Element | null {
  const fixes = answer.fixes ?? [];
  if (answer.fits || fixes.length === 0) return null;
  return (
    <div>
      <h3>{t("explain.fixes")}</h3>
      <ul class="fixes">
        {fixes.map((fix) => {
          const changed = applyFix(request, fix);
          return (
            <li key={fix}>
              <code>{fix}</code>
              {changed && <button type="button" class="button small" onClick={() => onTry(changed)}>{t("explain.try")}</button>}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Victims({ answer }: { answer: ExplainAnswer }): JSX.Element | null {
  const victims = answer.victims ?? [];
  if (victims.length === 0) return null;
  return (
    <div>
      <h3>{t("explain.victims")}</h3>
      <ul class="victims">
        {victims.slice(0, kMaxRows).map((victim) => (
          <li key={victim.id}>
            <a href={shareLink(victim.id)}><Name text={victim.name || victim.id} /></a>
            <span class="muted">{victim.priority ? tOf("priority.", victim.priority) : <NotKnown />}</span>
            <Bytes value={victim.memory_bytes} />
          </li>
        ))}
      </ul>
    </div>
  );
}
