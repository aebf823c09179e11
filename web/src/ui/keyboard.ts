// Keys of the whole console. A page registers what `/`, j and k do on it.
import { signal } from "@preact/signals";
import { load, store } from "../core/i18n";
import { navigate } from "../data/router";
import { isCluster } from "../data/session";

export interface PageKeys {
  focusFilter?(): void;
  move?(step: 1 | -1): void;
}

const kPageKeys: Record<string, string> = {
  o: "", d: "devices", s: "shares", w: "waiting", u: "usage", r: "rightsize", p: "planner", e: "events", a: "about",
};
const kClusterKeys: Record<string, string> = {
  n: "nodes", k: "workloads", q: "queues", l: "pools", t: "teams", m: "models",
};

// The pages that a letter after g opens.
export const pageKeys = (): Record<string, string> => (isCluster() ? { ...kPageKeys, ...kClusterKeys } : kPageKeys);
const kSequenceMs = 1500;
const kStored = "divvy.keys";

export const helpOpen = signal(false);
export const keysOn = signal(load(kStored) !== "off"); // WCAG 2.1.4: keys of one letter can be turned off

let registered: PageKeys[] = [];
let pendingG = 0;

export function setKeysOn(on: boolean): void {
  keysOn.value = on;
  store(kStored, on ? "on" : "off");
}

export function usePageKeys(keys: PageKeys): () => void {
  registered = [...registered, keys];
  return () => {
    registered = registered.filter((each) => each !== keys);
  };
}

export function startKeyboard(): void {
  document.addEventListener("keydown", onKey);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement
    && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
  if (event.key === "Escape" && isTyping(event.target) && !helpOpen.value) {
    (event.target as HTMLElement).blur();
    return;
  }
  if (!keysOn.value || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (handle(event.key)) event.preventDefault();
}

function handle(key: string): boolean {
  const afterG = performance.now() - pendingG < kSequenceMs;
  pendingG = 0;
  const path = afterG ? pageKeys()[key] : undefined;
  if (path !== undefined) {
    navigate(path);
    return true;
  }
  switch (key) {
    case "g":
      pendingG = performance.now();
      return true;
    case "?":
      helpOpen.value = true;
      return true;
    case "/":
      return call((keys) => keys.focusFilter);
    case "j":
      return call((keys) => keys.move && (() => keys.move?.(1)));
    case "k":
      return call((keys) => keys.move && (() => keys.move?.(-1)));
    default:
      return false;
  }
}

// The page that registered last answers.
function call(find: (keys: PageKeys) => (() => void) | undefined): boolean {
  for (const keys of [...registered].reverse()) {
    const action = find(keys);
    if (action) {
      action();
      return true;
    }
  }
  return false;
}
