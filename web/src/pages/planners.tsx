// The planner of one machine or of a cluster: a script of its own.
import type { JSX } from "preact";
import { isCluster } from "../data/session";
import { ManifestPlannerPage } from "./cluster/planner";
import { PlannerPage } from "./planner";

export const OtherPage = (): JSX.Element => (isCluster() ? <ManifestPlannerPage /> : <PlannerPage />);
