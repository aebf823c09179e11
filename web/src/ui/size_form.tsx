// The memory that serving a model needs, as a request of the planner.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { t } from "../core/i18n";
import { sizeParams } from "../core/size_params";
import { type ApiFailure, apiGet, failureFrom } from "../data/api";
import type { SizeAnswer, SizeNames } from "../data/types";
import { useAnswer } from "../data/use_answer";
import { Failure, Loading } from "./states";
import { Bytes, Sentence } from "./values";

interface SizeFormProps {
  use(answer: SizeAnswer): void; // an answer that fits
}

export function SizeForm({ use }: SizeFormProps): JSX.Element {
  const { answer: names } = useAnswer<SizeNames>("size/names");
  const [found, setFound] = useState<SizeAnswer | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy || !form.current) return;
    setBusy(true);
    setFailure(null);
    setFound(null);
    try {
      const answer = await apiGet<SizeAnswer>("size", sizeParams(new FormData(form.current)));
      setFound(answer);
      if (answer.fits) use(answer);
    } catch (error) {
      setFailure(failureFrom(error));
    }
    setBusy(false);
  };
  return (
    <section class="panel" aria-label={t("size.title")}>
      <div class="panel-head"><h2>{t("size.title")}</h2></div>
      <form class="request" ref={form} onSubmit={(event) => void ask(event)}>
        <Choice name="model" label={t("column.model_served")} values={names?.models.map((model) => model.name)} placeholder="llama-3-8b" required />
        <label class="field"><span>{t("size.context")}</span><input name="context" placeholder="8k" maxLength={12} /></label>
        <label class="field"><span>{t("size.concurrency")}</span><input name="concurrency" placeholder="1" maxLength={12} /></label>
        <Choice name="dtype" label={t("size.dtype")} values={names?.dtypes} placeholder="bf16" />
        <Choice name="gpu" label={t("column.device")} values={names?.devices} placeholder="h100" />
        <button type="submit" class="button" disabled={busy}>{t("size.submit")}</button>
      </form>
      <div aria-live="polite">{busy ? <Loading rows={2} /> : failure ? <Failure failure={failure} /> : found && <Figures answer={found} />}</div>
    </section>
  );
}

interface ChoiceProps {
  name: string;
  label: string;
  values: string[] | undefined; // offered; others are sent, too
  placeholder: string;
  required?: boolean;
}

function Choice({ name, label, values, placeholder, required }: ChoiceProps): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      <input name={name} list={`size-${name}`} placeholder={placeholder} maxLength={100} required={required} autocomplete="off" spellcheck={false} />
      <datalist id={`size-${name}`}>{values?.map((value) => <option key={value} value={value} />)}</datalist>
    </label>
  );
}

function Figures({ answer: { size, summary } }: { answer: SizeAnswer }): JSX.Element {
  return (
    <div class="request">
      <table class="plain">
        <tbody>
          {size.terms.map((term) => (
            <tr key={term.name} title={term.why}><th scope="row">{term.name}</th><td><Bytes value={term.bytes} /></td></tr>
          ))}
          <tr><th scope="row">{t("field.memory")}</th><td><Bytes value={size.memory_bytes} /></td></tr>
          <tr><th scope="row">{t("field.gpus")}</th><td>{size.gpus}</td></tr>
        </tbody>
      </table>
      <p><Sentence text={summary} /></p>
      {size.notes.map((note) => <p key={note} class="notice"><Sentence text={note} /></p>)}
    </div>
  );
}
