// The pages that only a cluster has, by the address.
import type { JSX } from "preact";
import { place } from "../../data/router";
import { ModelsPage, PoolsPage, TeamsPage } from "./lists";
import { NodePage, NodesPage } from "./nodes";
import { WaitingPodPage, WaitingPodsPage } from "./waiting";

export function OtherPage(): JSX.Element {
  const { page, id } = place.value;
  switch (page) {
    case "waiting":
      return <WaitingPodsPage />;
    case "waiting-pod":
      return <WaitingPodPage key={id} id={id} />;
    case "node":
      return <NodePage key={id} id={id} />;
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
