// Light, dark, or as the system.
import { signal } from "@preact/signals";
import { load, store } from "../core/i18n";

export type Theme = "system" | "light" | "dark";

const kStored = "divvy.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>("system");
export const scheme = signal<"light" | "dark">("light"); // what is shown

export function startTheme(): void {
  const stored = load(kStored);
  apply(stored === "light" || stored === "dark" ? stored : "system");
  dark.addEventListener("change", () => apply(theme.value));
}

export function setTheme(value: Theme): void {
  apply(value);
  store(kStored, value);
}

function apply(value: Theme): void {
  theme.value = value;
  scheme.value = value === "system" ? (dark.matches ? "dark" : "light") : value;
  document.documentElement.dataset.theme = value;
}
