// The pages of one machine, and those that a cluster shares with it, by the address; without the first one.
import type { JSX } from "preact";
import { t } from "../core/i18n";
import { place } from "../data/router";
import { Nothing } from "../ui/states";
import { AboutPage } from "./about";
import { DevicesPage } from "./devices";
import { EventsPage } from "./events";
import { SharesPage } from "./shares";
import { WaitingPage } from "./waiting";

export function OtherPage(): JSX.Element {
  switch (place.value.page) {
    case "devices":
      return <DevicesPage />;
    case "shares":
      return <SharesPage />;
    case "waiting":
      return <WaitingPage />;
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
