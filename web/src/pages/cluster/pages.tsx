// The pages that only a cluster has, by the address.
import type { JSX } from "preact";
import { place } from "../../data/router";
import { ModelsPage, PoolsPage, TeamsPage } from "./lists";
import { NodePage, NodesPage } from "./nodes";
import { ManifestPlannerPage } from "./planner";
import { QueuePage, QueuesPage } from "./queues";
import { WaitingPodPage, WaitingPodsPage } from "./waiting";
import { WorkloadPage, WorkloadsPage } from "./workloads";

export function OtherPage(): JSX.Element {
  const { page, id } = place.value;
  switch (page) {
    case "planner":
      return <ManifestPlannerPage />;
    case "waiting":
      return <WaitingPodsPage />;
    case "waiting-pod":
      return <WaitingPodPage key={id} id={id} />;
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
      return <NodesPage />;
  }
}
