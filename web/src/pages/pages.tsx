// All pages but the first one, by the address.
import type { JSX } from "preact";
import { t } from "../core/i18n";
import { kClusterPages } from "../core/paths";
import { place } from "../data/router";
import { isCluster } from "../data/session";
import { Nothing } from "../ui/states";
import { AboutPage } from "./about";
import { ModelsPage, PoolsPage, TeamsPage } from "./cluster/lists";
import { NodePage, NodesPage } from "./cluster/nodes";
import { ManifestPlannerPage } from "./cluster/planner";
import { QueuePage, QueuesPage } from "./cluster/queues";
import { WaitingPodPage, WaitingPodsPage } from "./cluster/waiting";
import { WorkloadPage, WorkloadsPage } from "./cluster/workloads";
import { DevicePage } from "./device";
import { DevicesPage } from "./devices";
import { EventsPage } from "./events";
import { PlannerPage } from "./planner";
import { SharePage } from "./share";
import { SharesPage } from "./shares";
import { UsagePage } from "./usage";
import { WaitingPage } from "./waiting";

export function OtherPage(): JSX.Element {
  const { page, id } = place.value;
  const cluster = isCluster();
  switch (kClusterPages.includes(page) && !cluster ? "unknown" : page) {
    case "devices":
      return <DevicesPage />;
    case "device":
      return <DevicePage key={id} id={id} />;
    case "shares":
      return <SharesPage />;
    case "share":
      return <SharePage key={id} id={id} />;
    case "waiting":
      return cluster ? <WaitingPodsPage /> : <WaitingPage />;
    case "usage":
      return <UsagePage />;
    case "planner":
      return cluster ? <ManifestPlannerPage /> : <PlannerPage />;
    case "events":
      return <EventsPage />;
    case "about":
      return <AboutPage />;
    case "waiting-pod":
      return <WaitingPodPage key={id} id={id} />;
    case "nodes":
      return <NodesPage />;
    case "node":
      return <NodePage key={id} id={id} />;
    case "workloads":
      return <WorkloadsPage />;
    case "workload":
      return <WorkloadPage key={id} id={id} />;
    case "queues":
      return <QueuesPage />;
    case "queue":
      return <QueuePage key={id} id={id} />;
    case "pools":
      return <PoolsPage />;
    case "teams":
      return <TeamsPage />;
    case "models":
      return <ModelsPage />;
    default:
      return (
        <div class="page">
          <header class="page-head"><h1>{t("page.unknown")}</h1></header>
          <Nothing title={t("page.unknown_why")}><a href="./">{t("overview.title")}</a></Nothing>
        </div>
      );
  }
}
