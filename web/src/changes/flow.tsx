// The two steps of a change: a dry run that says its effects, then the change itself; and what became of it. In one file
// for all forms, since each file more is a script more.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Change } from "../core/changes";
import { t } from "../core/i18n";
import { type ApiFailure, apiPost, failureFrom } from "../data/api";
import { isCluster, session } from "../data/session";
import type { ChangeAnswer } from "../data/types";
import { Icon, type IconName } from "../ui/icons";
import { failureTitle, isFinal } from "../ui/states";
import { Sentence, type Tone } from "../ui/values";

const kTimeoutMs = 40_000; // the server answers within 30 s

type FlowState =
  | { step: "idle" }
  | { step: "asking"; change: Change }
  | { step: "planned" | "applying" | "finished"; change: Change; answer: ChangeAnswer }
  | { step: "failed"; change: Change; failure: ApiFailure; applied: boolean };

export interface Flow {
  state: FlowState;
  ask(change: Change): void; // the dry run
  apply(): void; // what was asked
  clear(): void; // the form has other values now
}

export function useFlow(): Flow {
  const [state, setState] = useState<FlowState>({ step: "idle" });
  const turn = useRef(0); // an answer of a turn before is dropped
  const post = async (change: Change, dryRun: boolean): Promise<void> => {
    turn.current += 1;
    const mine = turn.current;
    let next: FlowState;
    try {
      const answer = await apiPost<ChangeAnswer>("changes", { ...change, dry_run: dryRun }, undefined, kTimeoutMs);
      next = { step: dryRun ? "planned" : "finished", change, answer };
    } catch (error) {
      next = { step: "failed", change, failure: failureFrom(error), applied: !dryRun };
    }
    if (mine === turn.current) setState(next);
  };
  return {
    state,
    ask(change) {
      if (state.step === "asking" || state.step === "applying") return;
      setState({ step: "asking", change });
      void post(change, true);
    },
    apply() {
      if (state.step !== "planned") return;
      setState({ ...state, step: "applying" });
      void post(state.change, false);
    },
    clear() {
      if (state.step === "idle" || state.step === "applying") return;
      turn.current += 1;
      setState({ step: "idle" });
    },
  };
}

interface OutcomeProps {
  flow: Flow;
  confirm?: ComponentChildren; // of the second step; without it: "Apply"
  isDangerous?: boolean;
  isReached?: boolean; // the object has what was requested
}

// What the flow says. The focus follows each answer.
export function Outcome({ flow, ...props }: OutcomeProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const { step } = flow.state;
  useEffect(() => {
    if (!["planned", "finished", "failed"].includes(step)) return;
    box.current?.scrollIntoView({ block: "nearest" });
    box.current?.querySelector<HTMLElement>("[tabindex]")?.focus({ preventScroll: true });
  }, [step]);
  const cancel = (): void => {
    flow.clear();
    box.current?.closest("section")?.querySelector<HTMLElement>("[data-ask]")?.focus();
  };
  return <div class="outcome" role="status" ref={box}><Said flow={flow} cancel={cancel} {...props} /></div>;
}

function Said({ flow, cancel, confirm, isDangerous, isReached }: OutcomeProps & { cancel(): void }): JSX.Element | null {
  const { state } = flow;
  switch (state.step) {
    case "idle":
      return null;
    case "asking":
      return <p class="muted">{t("change.asking")}</p>;
    case "applying":
      return <p class="muted">{t("change.applying")}</p>;
    case "failed":
      return <Failed failure={state.failure} applied={state.applied} again={() => flow.ask(state.change)} />;
    case "finished":
      return <Finished answer={state.answer} isReached={isReached ?? false} />;
    default:
      return <Plan answer={state.answer} cancel={cancel} apply={flow.apply} confirm={confirm} isDangerous={isDangerous} />;
  }
}

function Told({ tone, icon, children }: { tone: Tone; icon: IconName; children: ComponentChildren }): JSX.Element {
  return <p class={`notice tone-${tone}`} tabIndex={-1}><Icon name={icon} /><span>{children}</span></p>;
}

function Refused({ refused: { code, message } }: { refused: { code: string; message: string } }): JSX.Element {
  return <Told tone="broken" icon="critical">{t("change.refused")} <Sentence text={message} /> <code>{code}</code></Told>;
}

interface PlanProps extends Omit<OutcomeProps, "flow"> {
  answer: ChangeAnswer;
  apply(): void;
  cancel(): void;
}

function Plan({ answer, apply, cancel, confirm, isDangerous }: PlanProps): JSX.Element {
  const effects = answer.effects ?? [];
  const warnings = (answer.warnings ?? []).map((text) => (
    <p class="notice tone-waiting" key={text}><Icon name="warning" /><Sentence text={text} /></p>
  ));
  if (answer.refused) return <><Refused refused={answer.refused} />{warnings}</>;
  if (effects.length === 0) return <><Told tone="idle" icon="info">{t("change.same")}</Told>{warnings}</>;
  return (
    <div class="effects">
      <h3 tabIndex={-1}>{t("change.effects")}</h3>
      <ul>{effects.map((text) => <li key={text}><Sentence text={text} /></li>)}</ul>
      {warnings}
      <p class="buttons">
        <button type="button" class={`button ${isDangerous ? "danger" : "primary"}`} onClick={apply}>{confirm || t("change.apply")}</button>
        <button type="button" class="button quiet" onClick={cancel}>{t("action.cancel")}</button>
      </p>
    </div>
  );
}

function Finished({ answer, isReached }: { answer: ChangeAnswer; isReached: boolean }): JSX.Element {
  if (answer.refused) return <Refused refused={answer.refused} />;
  const isDone = answer.state !== "requested" || isReached;
  return (
    <Told tone={isDone ? "good" : "waiting"} icon={isDone ? "ok" : "waiting"}>
      {isDone ? isCluster() ? t("change.done") : t("change.done_local") : t("change.requested")}
      {answer.recorded === true && <>{" "}<Sentence text={t("change.recorded", { user: session.value?.user ?? "" })} /></>}
      {answer.recorded === false && ` ${t("change.not_recorded")}`}
    </Told>
  );
}

function Failed({ failure, applied, again }: { failure: ApiFailure; applied: boolean; again(): void }): JSX.Element {
  const { message, accepted, status } = failure;
  if (applied && status === 0) return <Told tone="broken" icon="critical">{t("change.unknown")}</Told>;
  return (
    <>
      <Told tone={isFinal(failure) ? "broken" : "waiting"} icon={isFinal(failure) ? "critical" : "warning"}>
        <strong>{failureTitle(failure)}</strong> <Sentence text={message || t("failure.no_words")} />
        {accepted.length > 0 && ` ${t("failure.accepted", { list: accepted.join(", ") })}`}
      </Told>
      {!isFinal(failure) && <p class="buttons"><button type="button" class="button" onClick={again}>{t("action.retry")}</button></p>}
    </>
  );
}

interface AskFormProps {
  flow: Flow;
  isWrong?: boolean; // a field says why
  change(): Change | null; // null: the values are the present ones
  children: ComponentChildren;
}

// A form that asks for effects. Its input clears what was said before.
export function AskForm({ flow, isWrong, change, children }: AskFormProps): JSX.Element {
  const [same, setSame] = useState(false);
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (isWrong) return;
    const asked = change();
    setSame(!asked);
    if (asked) flow.ask(asked);
  };
  const onInput = (): void => {
    setSame(false);
    flow.clear();
  };
  return (
    <form onSubmit={onSubmit} onInput={onInput}>
      {children}
      {same && <p class="field-error" role="alert">{t("change.same_values")}</p>}
    </form>
  );
}

export function AskButton(): JSX.Element {
  return <button type="submit" class="button" data-ask>{t("change.dry_run")}</button>;
}
