// The form of a queue: guarantee and limit by model, weight, borrowing.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Change } from "../core/changes";
import { t, tOf } from "../core/i18n";
import {
  type AmountField, type AmountRow, emptyRow, hasWrongModel, isWrongAmount, kAmountFields, queueChangeOf, queueValues, type QueueValues,
} from "../core/queue_changes";
import type { Queue } from "../data/cluster_types";
import { Name } from "../ui/values";
import { AskButton, AskForm, Outcome, useFlow } from "./flow";

export function Form({ item: queue, gone }: { item: Queue; gone: boolean }): JSX.Element {
  const [draft, setDraft] = useState<QueueValues | null>(null); // null: as the queue is now
  const flow = useFlow();
  const values = draft ?? queueValues(queue);
  const known = queueValues(queue).rows.length; // rows of models that the queue names
  const isWrong = hasWrongModel(values.rows) || values.rows.some((row) => kAmountFields.some((field) => isWrongAmount(field, row[field])));
  const stated = JSON.stringify(queueValues(queue));
  useEffect(() => setDraft((now) => (now && queueChangeOf(now, queue) ? now : null)), [stated]); // what was changed has arrived
  const write = (part: Partial<QueueValues>): void => setDraft({ ...values, ...part });
  const change = (): Change | null => {
    const to = queueChangeOf(values, queue);
    return to && { what: "queue", target: { queue: queue.name }, to };
  };
  const writeRow = (at: number, part: Partial<AmountRow>): void =>
    write({ rows: values.rows.map((row, index) => (index === at ? { ...row, ...part } : row)) });
  return (
    <>
      {!gone && (
        <AskForm flow={flow} isWrong={isWrong} change={change}>
          {values.rows.map((row, at) => (
            <Amounts key={at} row={row} isNew={at >= known} write={(part) => writeRow(at, part)} />
          ))}
          {hasWrongModel(values.rows) && <p class="field-error" role="alert">{t("change.model_wrong")}</p>}
          <button type="button" class="button small" onClick={() => write({ rows: [...values.rows, emptyRow("")] })}>{t("change.add_model")}</button>
          <p class="note">{t("change.amounts_hint")}</p>
          <div class="fields">
            <label class="field">
              <span>{t("fact.weight")}</span>
              <input type="number" min={1} max={1_000_000} value={values.weight} onInput={(event) => write({ weight: event.currentTarget.value })} />
            </label>
            <label class="check">
              <input type="checkbox" checked={values.borrows} onChange={(event) => write({ borrows: event.currentTarget.checked })} />
              {t("fact.borrows")}
            </label>
            <AskButton />
          </div>
        </AskForm>
      )}
      <Outcome flow={flow} />
    </>
  );
}

interface AmountsProps {
  row: AmountRow;
  isNew: boolean;
  write(part: Partial<AmountRow>): void;
}

function Amounts({ row, isNew, write }: AmountsProps): JSX.Element {
  const wrong = kAmountFields.filter((field) => isWrongAmount(field, row[field]));
  return (
    <fieldset class="amounts">
      <legend>{row.model === "*" ? t("change.all_models") : row.model ? <Name text={row.model} /> : t("change.new_model")}</legend>
      <div class="fields">
        {isNew && (
          <label class="field">
            <span>{t("field.model")}</span>
            <input value={row.model} onInput={(event) => write({ model: event.currentTarget.value })} placeholder="H100" maxLength={128} />
          </label>
        )}
        {kAmountFields.map((field) => <Amount key={field} field={field} text={row[field]} write={(text) => write({ [field]: text })} />)}
      </div>
      {wrong.length > 0 && (
        <p class="field-error" role="alert">{wrong.every((field) => field.endsWith("_memory")) ? t("field.memory_wrong") : t("change.devices_wrong")}</p>
      )}
    </fieldset>
  );
}

function Amount({ field, text, write }: { field: AmountField; text: string; write(text: string): void }): JSX.Element {
  return (
    <label class="field">
      <span>{tOf("change.amount.", field)}</span>
      <input value={text} inputMode={field.endsWith("_devices") ? "decimal" : "text"} maxLength={20} aria-invalid={isWrongAmount(field, text)}
        onInput={(event) => write(event.currentTarget.value)} />
    </label>
  );
}
