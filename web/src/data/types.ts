// Answers of the API (/api/v1). A member that may be unknown is Maybe: null and absent both mean "not known".
import type { Scope } from "../core/scope";
import type { Maybe } from "../core/units";

export interface SourceState {
  node: string;
  state: "ok" | "unreachable" | "never-reached";
  since_ms?: Maybe<number>;
  message?: Maybe<string>;
}

export interface AnswerHead {
  server_time_ms: number;
  data_time_ms?: Maybe<number>;
  sources?: SourceState[];
}

export interface ListAnswer<T> extends AnswerHead {
  items: T[];
  total: number;
  next?: Maybe<string>;
}

export interface ItemAnswer<T> extends AnswerHead {
  item: T;
}

export interface Session {
  user: string;
  mode: string;
  way_in: string;
  server_time_ms: number;
  csrf: string;
  version: string;
  node?: string;
  can: { change: boolean; plan: boolean };
  scope?: Scope;
  changes: { enabled: boolean; how?: string };
  history: { state: string; message?: string; from_ms?: Maybe<number>; to_ms?: Maybe<number> };
  poll_ms?: number;
  base_path?: string;
}

export interface Part {
  share: string;
  name: string;
  priority?: Maybe<string>;
  limit_bytes?: Maybe<number>;
  used_bytes?: Maybe<number>;
  resident_bytes?: Maybe<number>;
  swapped_bytes?: Maybe<number>;
  cores_percent?: Maybe<number>;
  usage_permille?: Maybe<number>;
}

export interface Device {
  id: string;
  node: string;
  index: number;
  uuid?: string;
  kind?: Maybe<string>;
  model?: Maybe<string>;
  pci?: Maybe<string>;
  numa?: Maybe<number>;
  pool?: Maybe<string>;
  state: string;
  state_reason?: Maybe<string>;
  memory_total_bytes?: Maybe<number>;
  memory_used_bytes?: Maybe<number>;
  memory_limits_bytes?: Maybe<number>;
  memory_guaranteed_bytes?: Maybe<number>;
  memory_budget_bytes?: Maybe<number>;
  memory_booked_bytes?: Maybe<number>;
  memory_swapped_bytes?: Maybe<number>;
  context_bytes?: Maybe<number>;
  overcommit_permille?: Maybe<number>;
  memory_pressure_permille?: Maybe<number>;
  compute_requested_percent?: Maybe<number>;
  utilisation_percent?: Maybe<number>;
  tenants?: Maybe<number>;
  checkpointed_tenants?: Maybe<number>;
  turn_length_ms?: Maybe<number>;
  swap_predicted_ms?: Maybe<number>;
  swap_actual_ms?: Maybe<number>;
  thrash_risk?: Maybe<boolean>;
  turn_tenant?: Maybe<string>;
  links?: Maybe<{ device: number; score: number; direct: boolean }[]>;
  nics?: Maybe<{ name: string; distance: number }[]>;
  parts?: Maybe<Part[]>;
}

export interface ShareDevice {
  id: string;
  index?: Maybe<number>;
  model?: Maybe<string>;
  limit_bytes?: Maybe<number>;
  guaranteed_bytes?: Maybe<number>;
  used_bytes?: Maybe<number>;
  allowed_bytes?: Maybe<number>;
  resident_bytes?: Maybe<number>;
  swapped_bytes?: Maybe<number>;
  pinned_bytes?: Maybe<number>;
  cores_percent?: Maybe<number>;
  utilisation_percent?: Maybe<number>;
  usage_permille?: Maybe<number>;
  swap_out_bytes_per_s?: Maybe<number>;
  swap_in_bytes_per_s?: Maybe<number>;
}

export interface Share {
  id: string;
  node: string;
  name: string;
  state: string;
  priority?: Maybe<string>;
  note?: Maybe<string>;
  pid?: Maybe<number>;
  processes?: Maybe<number>;
  created_ms?: Maybe<number>;
  command?: Maybe<string[]>;
  namespace?: Maybe<string>;
  pod?: Maybe<string>;
  container?: Maybe<string>;
  owner?: Maybe<string>; // "Deployment/web"
  queue?: Maybe<string>;
  team?: Maybe<string>;
  model_served?: Maybe<string>;
  image?: Maybe<string>;
  limit_bytes?: Maybe<number>;
  guaranteed_bytes?: Maybe<number>;
  used_bytes?: Maybe<number>;
  resident_bytes?: Maybe<number>;
  swapped_bytes?: Maybe<number>;
  pinned_bytes?: Maybe<number>;
  cores_percent?: Maybe<number>;
  usage_permille?: Maybe<number>;
  weight_percent?: Maybe<number>;
  devices?: Maybe<ShareDevice[]>;
  mode?: Maybe<string>;
  backend?: Maybe<string>;
  cores_policy?: Maybe<string>;
  throttled_permille?: Maybe<number>;
  throttled_ms?: Maybe<number>;
  launch_waits?: Maybe<number>;
  grants_per_s?: Maybe<number>;
  longest_kernel_us?: Maybe<number>;
  overhead_cpu_permille?: Maybe<number>;
  refused_allocations?: Maybe<number>;
  pressure_waits?: Maybe<number>;
  swaps?: Maybe<number>;
  longest_wait_ms?: Maybe<number>;
  turn_left_ms?: Maybe<number>;
  memory_state?: Maybe<string>;
  memory_reason?: Maybe<string>;
  lent_to?: Maybe<string>;
  idle_ms?: Maybe<number>;
  idle_reclaim_ms?: Maybe<number>;
  idle_stop_ms?: Maybe<number>;
  stop_state?: Maybe<string>;
  stop_left_ms?: Maybe<number>;
  bypass?: Maybe<string>;
  usage_mismatch?: Maybe<boolean>;
  checkpoint?: Maybe<string>;
  slow_reasons?: Maybe<string[]>;
}

export interface Waiting {
  id: string;
  node: string;
  pid?: Maybe<number>;
  name: string;
  memory?: Maybe<string>;
  gpus?: Maybe<number>;
  cores?: Maybe<number>;
  priority?: Maybe<string>;
  position?: Maybe<number>;
  reason?: Maybe<string>;
  kind: string;
  since_ms?: Maybe<number>;
  namespace?: Maybe<string>;
  owner?: Maybe<string>;
  queue?: Maybe<string>;
  priority_value?: Maybe<number>;
}

export interface EventRow {
  id: string;
  time_ms: number;
  node?: string;
  kind: string;
  share?: Maybe<string>;
  name?: Maybe<string>;
  device?: Maybe<string>;
  text: string;
  actor?: Maybe<string>;
}

export interface Amounts {
  total?: Maybe<number>;
  allocated?: Maybe<number>;
  used?: Maybe<number>;
  idle?: Maybe<number>;
}

export interface Overview extends AnswerHead {
  funnel: {
    devices?: Maybe<number>;
    healthy_devices?: Maybe<number>;
    memory: Record<string, Maybe<number>>;
    compute: Record<string, Maybe<number>>;
  };
  overcommit?: Maybe<{ limits_bytes?: Maybe<number>; physical_bytes?: Maybe<number> }>;
  shares?: Maybe<Record<string, Maybe<number>>>;
  waiting?: Maybe<number>;
  never_fit?: Maybe<number>;
  nodes?: Maybe<number>;
  waiting_kinds?: Maybe<Record<string, Maybe<number>>>;
  attention?: { severity: string; code: string; text: string; link?: Maybe<string> }[];
}

export interface SeriesAnswer {
  server_time_ms: number;
  from_ms: number;
  to_ms: number;
  tier: string;
  t_ms: number[];
  series: { what: string; mean: (number | null)[]; max?: (number | null)[] }[];
}

export interface Usage {
  allocated_device_hours: number;
  device_hours?: Maybe<number>; // used
  idle_device_hours?: Maybe<number>;
}

// Amounts of money are millionths of the answer's currency.
interface Charged extends Usage {
  memory_byte_hours: number;
  charged_micro?: Maybe<number>;
  used_micro?: Maybe<number>;
  idle_micro?: Maybe<number>;
}

export interface UsageItem extends Charged {
  key: string; // "": of shares without one
  name: string;
  start_ms?: number; // of a step of a day or an hour
}

export interface UsageAnswer {
  by: string;
  from_ms: number;
  to_ms: number;
  currency: Maybe<string>;
  items: UsageItem[];
  total: Charged & {
    capacity_device_hours?: Maybe<number>;
    unallocated_device_hours?: Maybe<number>;
    price_micro?: Maybe<number>;
    unallocated_micro?: Maybe<number>;
  };
  unpriced_models: string[];
}

export interface RightSizeItem {
  key: string;
  namespace: string; // "" on one machine, as are owner and container
  owner: string;
  container: string;
  team: string;
  queue: string;
  shares: number;
  seen_hours: number;
  seen_days: number;
  limit_bytes: number;
  peak_bytes?: Maybe<number>;
  advised_bytes?: Maybe<number>;
  saving_bytes?: Maybe<number>;
  cores_percent?: Maybe<number>;
  busy_percent?: Maybe<number>;
  advised_cores?: Maybe<number>;
  idle_ms?: Maybe<number>;
  state: string; // "advice", "fits", "too-early", "reserves", "unknown"
  idle_micro_per_day?: Maybe<number>;
}

export interface RightSizeAnswer {
  days: number;
  from_ms: number;
  to_ms: number;
  currency: Maybe<string>;
  items: RightSizeItem[];
  total: { saving_bytes: number; saving_devices: number; idle_micro_per_day?: Maybe<number> };
}

export interface ExplainRequest {
  memory?: string;
  cores?: number;
  gpus?: number;
  priority?: string;
  model?: string;
}

export interface ExplainAnswer {
  fits?: Maybe<boolean>;
  impossible?: Maybe<boolean>;
  summary?: Maybe<string>;
  waiting?: Maybe<number | boolean>;
  devices?: Maybe<{ device: number; uuid?: string; model?: Maybe<string>; given?: boolean; refusal?: Maybe<string> }[]>;
  fixes?: Maybe<string[]>;
  victims?: Maybe<{ id: string; name: string; priority?: Maybe<string>; memory_bytes?: Maybe<number> }[]>;
}

export interface ChangeAnswer {
  dry_run: boolean;
  effects?: Maybe<string[]>;
  warnings?: Maybe<string[]>;
  refused?: Maybe<{ code: string; message: string }>; // then nothing was changed
  state?: Maybe<string>; // of a cluster: "planned", "requested" (still going on), "done"
  recorded?: Maybe<boolean>; // an Event has the viewer's name
}

export interface About {
  version?: Maybe<string>;
  commit?: Maybe<string>;
  configuration?: Maybe<{ name: string; value: Maybe<string | number | boolean> }[]>;
  health?: Maybe<{
    loop_late_ms?: Maybe<number>;
    streams?: Maybe<number>;
    sessions?: Maybe<number>;
    history?: Maybe<{
      state?: Maybe<string>; bytes?: Maybe<number>; limit_bytes?: Maybe<number>; series?: Maybe<number>;
      from_ms?: Maybe<number>; dropped_points?: Maybe<number>;
    }>;
  }>;
}

// GET /size: members as `divvy size -o json` has them; those that pages show.
export interface SizeAnswer {
  size: {
    memory_bytes: number; gpus: number; cores_percent?: number; notes: string[];
    terms: { name: string; bytes: number; why: string }[];
  };
  fits: boolean;
  summary: string;
  memory: string; // "36416Mi"
  manifest: string | null;
}

export interface SizeNames {
  models: { name: string }[];
  devices: string[];
  dtypes: string[];
}

// assets/licences.json
export interface Licence {
  name: string;
  licence: string;
  text: string;
}
