// The line above a list: filter box, quick filters, count, columns, copy.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n";
import { filterText, filterWords } from "../core/list_query";
import { params, setParams } from "../data/router";
import { Icon } from "./icons";
import { usePageKeys } from "./keyboard";

const kTypingMs = 250;

export interface QuickFilter {
  label: string;
  word: string;
}

export function setFilters(words: readonly string[]): void {
  const next = new URLSearchParams(params.value);
  next.delete("filter");
  for (const word of words) next.append("filter", word);
  setParams(next);
}

export function FilterBox({ label, hint }: { label: string; hint: string }): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const current = filterText(params.value.getAll("filter"));
  const [text, setText] = useState(current);
  useEffect(() => {
    // The address changed (a quick filter, back): the box follows, unless it is being typed in.
    if (filterText(filterWords(text)) !== current && !timer.current) setText(current);
  }, [current]);
  useEffect(() => usePageKeys({ focusFilter: () => box.current?.select() }), []);
  useEffect(() => () => clearTimeout(timer.current), []);
  const onInput = (value: string): void => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      setFilters(filterWords(value));
    }, kTypingMs);
  };
  return (
    <label class="filter-box">
      <span class="sr-only">{label}</span>
      <Icon name="search" />
      <input ref={box} type="search" value={text} onInput={(event) => onInput(event.currentTarget.value)} placeholder={hint} spellcheck={false}
        autocomplete="off" maxLength={1000} />
      <kbd>/</kbd>
    </label>
  );
}

export function QuickFilters({ filters }: { filters: QuickFilter[] }): JSX.Element {
  const active = params.value.getAll("filter");
  const toggle = (word: string): void =>
    setFilters(active.includes(word) ? active.filter((each) => each !== word) : [...active, word]);
  return (
    <div class="chips" role="group" aria-label={t("list.quick_filters")}>
      {filters.map(({ label, word }) => (
        <button key={word} type="button" class="chip" aria-pressed={active.includes(word)} onClick={() => toggle(word)}>
          {label}
        </button>
      ))}
    </div>
  );
}

// Without TLS, other addresses than loopback have no clipboard: there the browser copies what is selected.
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    return copied;
  }
}

// Copies text; the button says for two seconds that it did.
export function CopyButton({ text, label }: { text: () => string; label: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const onClick = async (): Promise<void> => {
    const copied = await copyText(text());
    setDone(copied);
    if (copied) setTimeout(() => setDone(false), 2000);
  };
  return (
    <button type="button" class="button quiet" onClick={() => void onClick()}>
      <Icon name={done ? "ok" : "copy"} />
      <span aria-live="polite">{done ? t("action.copied") : label}</span>
    </button>
  );
}

export function Toolbar({ children }: { children: ComponentChildren }): JSX.Element {
  return <div class="toolbar">{children}</div>;
}
