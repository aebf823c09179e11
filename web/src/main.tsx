// Start: language, theme, session, router; then the page that the address names.
import { effect } from "@preact/signals";
import { type JSX, render } from "preact";
import { startLanguage, t } from "./core/i18n";
import { startClock } from "./data/clock";
import { startLive } from "./data/live";
import { place, startRouter } from "./data/router";
import { endSession, openSession, sessionState, takeTokenFromAddress } from "./data/session";
import { AboutPage } from "./pages/about";
import { DevicePage } from "./pages/device";
import { DevicesPage } from "./pages/devices";
import { EventsPage } from "./pages/events";
import { LoginPage } from "./pages/login";
import { OverviewPage } from "./pages/overview";
import { PlannerPage } from "./pages/planner";
import { SharePage } from "./pages/share";
import { SharesPage } from "./pages/shares";
import { WaitingPage } from "./pages/waiting";
import { startKeyboard } from "./ui/keyboard";
import { Shell } from "./ui/shell";
import { Loading, Nothing } from "./ui/states";
import { startTheme } from "./ui/theme";

function Page(): JSX.Element {
  const { page, id } = place.value;
  switch (page) {
    case "overview":
    case "login":
      return <OverviewPage />;
    case "devices":
      return <DevicesPage />;
    case "device":
      return <DevicePage key={id} id={id} />;
    case "shares":
      return <SharesPage />;
    case "share":
      return <SharePage key={id} id={id} />;
    case "waiting":
      return <WaitingPage />;
    case "planner":
      return <PlannerPage />;
    case "events":
      return <EventsPage />;
    case "about":
      return <AboutPage />;
    default:
      return (
        <div class="page">
          <header class="page-head"><h1>{t("page.unknown")}</h1></header>
          <Nothing title={t("page.unknown_why")}><a href="./">{t("overview.title")}</a></Nothing>
        </div>
      );
  }
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
  });
  const root = document.getElementById("root");
  if (root) render(<App />, root);
}

void start();
