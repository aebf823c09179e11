// Which columns of a list are shown, kept per viewer.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { load, store, t } from "../core/i18n";
import type { Column } from "./list_table";
import { closeOnEscape, closeOnLeave } from "./menu";

const kStored = "divvy.columns.";

function loadHidden(kind: string): string[] {
  try {
    const value: unknown = JSON.parse(load(kStored + kind) ?? "[]");
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

interface ColumnChoice<T> {
  shown: Column<T>[];
  menu: JSX.Element;
}

// The columns that the viewer chose, and the menu to choose them. Columns of rank 1 always stay.
export function useColumns<T>(kind: string, columns: Column<T>[]): ColumnChoice<T> {
  const [hidden, setHidden] = useState(() => loadHidden(kind));
  const toggle = (key: string, show: boolean): void => {
    const next = show ? hidden.filter((each) => each !== key) : [...hidden, key];
    setHidden(next);
    store(kStored + kind, JSON.stringify(next));
  };
  const menu = (
    <details class="menu" onKeyDown={closeOnEscape} onFocusOut={closeOnLeave}>
      <summary class="button quiet">{t("list.columns")}</summary>
      <fieldset class="menu-box">
        <legend class="sr-only">{t("list.columns")}</legend>
        {columns.filter((column) => column.rank > 1).map(({ key, title }) => (
          <label class="check" key={key}>
            <input type="checkbox" checked={!hidden.includes(key)} onChange={(event) => toggle(key, event.currentTarget.checked)} />
            <span>{title}</span>
          </label>
        ))}
      </fieldset>
    </details>
  );
  return { shown: columns.filter((column) => column.rank === 1 || !hidden.includes(column.key)), menu };
}
