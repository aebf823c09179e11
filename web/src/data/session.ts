// The viewer's session.
import { signal } from "@preact/signals";
import { type ApiFailure, apiDelete, apiGet, apiPost, failureFrom, setCsrf, whenSessionEnds } from "./api";
import { setServerTime } from "./clock";
import { stopLive } from "./live";
import type { Session } from "./types";

export type SessionState = "checking" | "in" | "out" | "unreachable";

export const session = signal<Session | null>(null);
export const sessionState = signal<SessionState>("checking");
export const signedOutReason = signal("");

export const isCluster = (): boolean => session.value?.mode === "cluster";
// In a cluster history may be off; on one machine its panel says so.
export const hasHistory = (): boolean => !isCluster() || session.value?.history?.state !== "off";

whenSessionEnds((reason) => {
  if (sessionState.value !== "out") endSession(reason);
});

// Ends the session on this page: the login page shows the reason. The reason that the stream gives replaces
// the one of a request that was refused a moment before.
export function endSession(reason: string): void {
  if (sessionState.value === "in") stopLive(reason);
  session.value = null;
  sessionState.value = "out";
  signedOutReason.value = reason;
}

// Trades the token of the one-time link for a session, or asks for the session that the cookie names.
export async function openSession(token: string | null): Promise<void> {
  try {
    take(token ? await apiPost<Session>("session", { token }) : await apiGet<Session>("session"));
  } catch (error) {
    fail(failureFrom(error));
  }
}

function take(value: Session): void {
  setServerTime(value.server_time_ms);
  setCsrf(value.csrf);
  session.value = value;
  signedOutReason.value = "";
  sessionState.value = "in";
}

function fail(failure: ApiFailure): void {
  if (failure.status === 401) {
    sessionState.value = "out";
    signedOutReason.value = failure.message;
    return;
  }
  sessionState.value = "unreachable";
  signedOutReason.value = failure.message;
}

export async function closeSession(): Promise<void> {
  try {
    await apiDelete("session");
  } finally {
    endSession("");
  }
}

// The token of "#token=HEX"; removed from the address at once, so that it is in no history and no bookmark.
export function takeTokenFromAddress(): string | null {
  const match = /^#token=([0-9A-Za-z_-]{8,512})$/.exec(location.hash);
  if (location.hash.startsWith("#token=")) {
    history.replaceState(null, "", location.pathname + location.search);
  }
  return match?.[1] ?? null;
}
