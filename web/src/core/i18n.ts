// Texts of the pages, from texts/*.json. checks/texts.mjs holds both lists to the source.
import { signal } from "@preact/signals";
import en from "../texts/en.json";
import { setUnitLocale } from "./units";

export type TextKey = keyof typeof en;
export type Language = "en" | "zh";
type Values = Record<string, string | number>;

const kStored = "divvy.language";
let texts: Record<string, string> = en;

export const language = signal<Language>("en");

export function preferredLanguage(stored: string | null, browser: readonly string[]): Language {
  if (stored === "en" || stored === "zh") return stored;
  for (const tag of browser) {
    if (/^zh\b/i.test(tag)) return "zh";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}

export async function setLanguage(name: Language, keep = false): Promise<void> {
  texts = name === "zh" ? (await import("../texts/zh.json")).default : en;
  setUnitLocale(name === "zh" ? "zh-CN" : "en-GB");
  document.documentElement.lang = name === "zh" ? "zh-CN" : "en";
  language.value = name;
  if (keep) store(kStored, name);
}

export async function startLanguage(): Promise<void> {
  await setLanguage(preferredLanguage(load(kStored), navigator.languages));
}

export function t(key: TextKey, values?: Values): string {
  void language.value; // a component that shows a text is drawn again when the language changes
  return fill(texts[key] ?? en[key], values);
}

// The text of a value that the server names (a state, a kind); the value itself where no text is known.
export function tOf(prefix: string, value: string | null | undefined): string {
  void language.value;
  if (!value) return "";
  const key = prefix + value;
  return texts[key] ?? (en as Record<string, string>)[key] ?? value;
}

// The text of a count: KEY.one or KEY.other, with {n}.
export function tn(key: string, n: number): string {
  const rule = new Intl.PluralRules(language.value).select(n) === "one" ? ".one" : ".other";
  return fill(tOf(key, rule), { n });
}

function fill(text: string, values?: Values): string {
  return values ? text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)) : text;
}

// localStorage may be refused by the browser; then a choice holds for this page only.
export function load(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // nothing to do: see load()
  }
}
