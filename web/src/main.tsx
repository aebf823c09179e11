// Start: language, theme, session, router; then the page that the address names.
import { effect } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { startLanguage, t } from "./core/i18n";
import { type PageScript, scriptOf } from "./core/paths";
import { ApiFailure } from "./data/api";
import { startClock } from "./data/clock";
import { readAgain, startLive } from "./data/live";
import { place, startRouter } from "./data/router";
import { endSession, isCluster, openSession, sessionState, startReviews, takeTokenFromAddress } from "./data/session";
import { LoginPage } from "./pages/login";
import { OverviewPage } from "./pages/overview";
import { startKeyboard } from "./ui/keyboard";
import { Shell } from "./ui/shell";
import { Failure, Loading } from "./ui/states";
import { startTheme } from "./ui/theme";

const kScripts: { [name in PageScript]: () => Promise<{ OtherPage(): JSX.Element }> } = {
  common: () => import("./pages/pages"),
  cluster: () => import("./pages/cluster/pages"),
  work: () => import("./pages/cluster/work_pages"),
  usage: () => import("./pages/usage"),
  rightsize: () => import("./pages/right_size"),
  planner: () => import("./pages/planners"),
  items: () => import("./pages/items"),
};
const scripts: { [name in PageScript]?: { OtherPage(): JSX.Element } } = {};

// All pages but the first one are loaded after it.
function LazyPage({ script }: { script: PageScript }): JSX.Element {
  const [failed, setFailed] = useState(false);
  const [, setReady] = useState<PageScript | null>(null);
  useEffect(() => void load(script).then(() => setReady(script), () => setFailed(true)), [script]);
  const loaded = scripts[script];
  if (loaded) return <loaded.OtherPage />;
  return <div class="page">{failed ? <Failure failure={new ApiFailure("unreachable", "", 0)} retry={() => location.reload()} /> : <Loading />}</div>;
}

async function load(script: PageScript): Promise<void> {
  scripts[script] ??= await kScripts[script]();
}

function Page(): JSX.Element {
  const { page } = place.value;
  return page === "overview" || page === "login" ? <OverviewPage /> : <LazyPage script={scriptOf(page, isCluster())} />;
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
  load("common").catch(() => {}); // the page that needs them tries again
}

void start();
