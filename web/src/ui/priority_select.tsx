// A priority of a share; an empty one is not known, and has to be chosen.
import type { JSX } from "preact";
import { t, tOf } from "../core/i18n";

export function PrioritySelect({ value, change }: { value: string; change(value: string): void }): JSX.Element {
  return (
    <label class="field">
      <span>{t("column.priority")}</span>
      <select required value={value} onChange={(event) => change(event.currentTarget.value)}>
        {value === "" && <option value="">{t("value.not_known")}</option>}
        {["high", "normal", "low"].map((name) => <option key={name} value={name}>{tOf("priority.", name)}</option>)}
      </select>
    </label>
  );
}
