// Start: language, theme, session, router; then the page that the address names.
import { effect } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { startLanguage, t } from "./core/i18n";
import { ApiFailure } from "./data/api";
import { startClock } from "./data/clock";
import { readAgain, startLive } from "./data/live";
import { place, startRouter } from "./data/router";
import { endSession, openSession, sessionState, startReviews, takeTokenFromAddress } from "./data/session";
import { LoginPage } from "./pages/login";
import { OverviewPage } from "./pages/overview";
import { startKeyboard } from "./ui/keyboard";
import { Shell } from "./ui/shell";
import { Failure, Loading } from "./ui/states";
import { startTheme } from "./ui/theme";

let pages: typeof import("./pages/pages") | null = null;

// All pages but the first one are loaded after it.
function LazyPage(): JSX.Element {
  const [failed, setFailed] = useState(false);
  const [, setReady] = useState(false);
  useEffect(() => void loadPages().then(() => setReady(true), () => setFailed(true)), []);
  if (pages) return <pages.OtherPage />;
  return <div class="page">{failed ? <Failure failure={new ApiFailure("unreachable", "", 0)} retry={() => location.reload()} /> : <Loading />}</div>;
}

async function loadPages(): Promise<void> {
  pages ??= await import("./pages/pages");
}

function Page(): JSX.Element {
  const { page } = place.value;
  return page === "overview" || page === "login" ? <OverviewPage /> : <LazyPage />;
}

function App(): JSX.Element {
  switch (sessionState.value) {
    case "checking":
      return <main class="login"><Loading rows={3} /></main>;
    case "in":
      return <Shell><Page /></Shell>;
    default:
      return <LoginPage />;
  }
}

async function start(): Promise<void> {
  startTheme();
  const token = takeTokenFromAddress();
  await Promise.all([startLanguage(), openSession(token)]);
  startClock();
  startRouter();
  startKeyboard();
  let live = false;
  effect(() => {
    if (sessionState.value !== "in" || live) return;
    live = true;
    startLive((reason) => endSession(reason || t("login.ended")));
    startReviews(readAgain);
  });
  const root = document.getElementById("root");
  if (root) render(<App />, root);
  loadPages().catch(() => {}); // the page that needs them tries again
}

void start();
