// The pages of queues and workloads, by the address: a script of its own.
import type { JSX } from "preact";
import { place } from "../../data/router";
import { QueuePage, QueuesPage } from "./queues";
import { WorkloadPage, WorkloadsPage } from "./workloads";

export function OtherPage(): JSX.Element {
  const { page, id } = place.value;
  switch (page) {
    case "workloads":
      return <WorkloadsPage />;
    case "workload":
      return <WorkloadPage key={id} id={id} />;
    case "queue":
      return <QueuePage key={id} id={id} />;
    default:
      return <QueuesPage />;
  }
}
