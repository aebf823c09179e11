// What forms of changes have in common: they ask for effects, and input clears what was said before.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { Change } from "../core/changes";
import { t } from "../core/i18n";
import type { Flow } from "./flow";

interface AskFormProps {
  flow: Flow;
  isWrong?: boolean; // a field says why
  change(): Change | null; // null: the values are the present ones
  children: ComponentChildren;
}

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
