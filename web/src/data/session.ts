// The viewer's session.
import { signal } from "@preact/signals";
import { t } from "../core/i18n";
import { type Collection, hiddenSource, type Scope } from "../core/scope";
import { type ApiFailure, apiDelete, apiGet, apiPost, failureFrom, setCsrf, whenSessionEnds } from "./api";
import { setServerTime } from "./clock";
import { stopLive } from "./live";
import type { Session } from "./types";

export type SessionState = "checking" | "in" | "out" | "unreachable";

export const session = signal<Session | null>(null);
export const sessionState = signal<SessionState>("checking");
export const signedOutReason = signal("");
// A session ended on this page: what it holds is of that session.
export const endedHere = signal(false);

export const isCluster = (): boolean => session.value?.mode === "cluster";
// In a cluster history may be off; on one machine its panel says so.
export const hasHistory = (): boolean => !isCluster() || session.value?.history?.state !== "off";

// Of a viewer with limited rights; else null.
export const limitedScope = (): Scope | null => (session.value?.scope?.everything === false ? session.value.scope : null);
export const hiddenFor = (list: string, filters?: readonly string[]): Collection | null => hiddenSource(list, limitedScope(), filters);

whenSessionEnds((reason) => {
  if (sessionState.value === "in") endSession(reason);
});

// Ends the session on this page: the login page shows the reason. The reason that the stream gives replaces
// the one of a request that was refused a moment before.
export function endSession(reason: string): void {
  if (sessionState.value === "in") stopLive(reason);
  session.value = null;
  endedHere.value = true;
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

// Signs in with a token of the cluster; null, or why it did not work. The reason for signing in again stays until then.
export async function signIn(token: string): Promise<ApiFailure | null> {
  try {
    take(await apiPost<Session>("session", { token }));
    return null;
  } catch (error) {
    return failureFrom(error);
  }
}

// Takes the session that another tab opened meanwhile. Without one, the reason for being signed out stays.
export async function takeOpenSession(): Promise<void> {
  try {
    take(await apiGet<Session>("session"));
  } catch (error) {
    if (sessionState.value === "unreachable") fail(failureFrom(error));
  }
}

// After another session the page begins again at the same address, with nothing of what it held.
function take(value: Session): void {
  if (endedHere.value) {
    sessionState.value = "checking";
    location.reload();
    return;
  }
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

// Rights may change while the page is open: the console reads them again once a minute, and so does the page.
const kReviewMs = 60_000;

export function startReviews(onChange: () => void): void {
  const review = async (): Promise<void> => {
    const before = session.value;
    if (!before || document.hidden || before.way_in === "one-time-link") return;
    try {
      const now = await apiGet<Session>("session");
      if (session.value !== before) return;
      setCsrf(now.csrf); // a proxy may have signed in anew, or another viewer
      if (JSON.stringify([now.user, now.scope, now.can]) === JSON.stringify([before.user, before.scope, before.can])) return;
      session.value = now;
      onChange();
    } catch {
      // a 401 ends the session; other failures are told by the state of the connection
    }
  };
  setInterval(() => void review(), kReviewMs);
  document.addEventListener("visibilitychange", () => void review());
}

export async function closeSession(): Promise<void> {
  try {
    await apiDelete("session");
    endSession("");
  } catch (error) {
    // Without an answer the session may live on.
    if (failureFrom(error).status !== 401) endSession(t("login.not_ended"));
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
