// The server's clock. Ages are computed from it, so that a wrong clock of the browser does not matter.
import { signal } from "@preact/signals";

let offsetMs = 0;

// Advances each second while the page is visible.
export const nowMs = signal(Date.now());

export function serverNow(): number {
  return Date.now() + offsetMs;
}

export function setServerTime(serverTimeMs: number | undefined): void {
  if (serverTimeMs && Number.isFinite(serverTimeMs)) offsetMs = serverTimeMs - Date.now();
}

export function startClock(): void {
  const tick = (): void => {
    if (!document.hidden) nowMs.value = serverNow();
  };
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
  tick();
}
