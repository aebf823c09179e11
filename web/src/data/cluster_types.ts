// Rows and answers that the API has in a cluster only. Maybe: null and absent both mean "not known".
import type { QueueAmounts } from "../core/queue_bars";
import type { Explanation } from "../core/reasons";
import type { Maybe } from "../core/units";

export interface NodeRow {
  id: string;
  node: string;
  state: string;
  state_reason?: Maybe<string>;
  driver?: Maybe<string>;
  pool?: Maybe<string>;
  devices?: Maybe<number>;
  healthy_devices?: Maybe<number>;
  models?: Maybe<string>;
  host_reserve_bytes?: Maybe<number>;
  host_committed_bytes?: Maybe<number>;
  loop_late_ms?: Maybe<number>;
  memory_total_bytes?: Maybe<number>;
  memory_limits_bytes?: Maybe<number>;
  memory_used_bytes?: Maybe<number>;
  compute_requested_percent?: Maybe<number>;
  shares?: Maybe<number>;
  waiting?: Maybe<number>;
}

export interface Workload {
  id: string;
  namespace: string;
  kind: string;
  name: string;
  team?: Maybe<string>;
  queue?: Maybe<string>;
  pods?: Maybe<number>;
  shares?: Maybe<number>;
  waiting?: Maybe<number>;
  devices?: Maybe<number>;
  memory_limits_bytes?: Maybe<number>;
  memory_used_bytes?: Maybe<number>;
  compute_requested_percent?: Maybe<number>;
  models?: Maybe<string>;
  images?: Maybe<string>;
}

export interface Queue extends QueueAmounts {
  id: string;
  name: string;
  parent?: Maybe<string>;
  depth?: Maybe<number>;
  path?: Maybe<string>;
  namespaces?: Maybe<string[]>;
  pool?: Maybe<string>;
  weight?: Maybe<number>;
  borrows?: Maybe<boolean>;
  running?: Maybe<number>;
  pending?: Maybe<number>;
  waiting?: Maybe<{ reason: string; pods?: Maybe<number>; example?: Maybe<string> }[]>;
  fault?: Maybe<string>;
}

export interface Pool {
  id: string;
  name: string;
  devices?: Maybe<number>;
  free_devices?: Maybe<number>;
  memory_total_bytes?: Maybe<number>;
  memory_limits_bytes?: Maybe<number>;
  largest_free_bytes?: Maybe<number>;
  compute_requested_percent?: Maybe<number>;
  shares?: Maybe<number>;
  nodes?: Maybe<number>;
  namespaces?: Maybe<string[]>;
}

export interface Team {
  id: string;
  name: string;
  namespaces?: Maybe<string[]>;
  shares?: Maybe<number>;
  waiting?: Maybe<number>;
  devices?: Maybe<number>;
  memory_limits_bytes?: Maybe<number>;
  memory_used_bytes?: Maybe<number>;
  compute_requested_percent?: Maybe<number>;
}

export interface ServedModel {
  id: string;
  name: string;
  source?: Maybe<string>;
  namespaces?: Maybe<string[]>;
  shares?: Maybe<number>;
  nodes?: Maybe<string[]>;
  images?: Maybe<string[]>;
  memory_limits_bytes?: Maybe<number>;
}

export interface ExplainPodAnswer {
  explanation: Explanation;
}

export interface PlannedPod {
  pod: string;
  fits?: Maybe<boolean>;
  node?: Maybe<string>;
  devices?: Maybe<string[]>;
  ended?: Maybe<string[]>;
  why?: Maybe<string>;
  idle?: Maybe<string>;
}
