// Why a pod does not fit: the nodes of an explanation, grouped by equal reason. Pure.
import type { Maybe } from "./units";

export interface DeviceReason {
  uuid: string;
  why?: Maybe<string>;
}

export interface NodeReason {
  node: string;
  fits?: Maybe<boolean>;
  why?: Maybe<string>;
  said_by?: Maybe<string>;
  devices?: Maybe<DeviceReason[]>;
}

export interface Fix {
  change: string;
  node?: Maybe<string>;
  nodes?: Maybe<number>;
}

export interface Explanation {
  pod: string;
  limited?: Maybe<boolean>; // nodes and other pods are left out for lack of rights
  asks_for_devices?: Maybe<boolean>;
  bound?: Maybe<boolean>;
  fits?: Maybe<boolean>;
  never_fits?: Maybe<boolean>; // no node could take it, even without other pods
  node?: Maybe<string>;
  told?: Maybe<string>;
  models_asked?: Maybe<Record<string, string>>;
  other_scheduler?: Maybe<string>;
  idle?: Maybe<string>;
  device_class_hazard?: Maybe<string>;
  gated?: Maybe<string>;
  gates?: Maybe<string[]>; // names of scheduling gates that hold the pod
  reasons?: Maybe<Record<string, number>>;
  nodes?: Maybe<NodeReason[]>;
  fixes?: Maybe<Fix[]>;
  would_fit_without?: Maybe<string[]>;
}

export interface ReasonGroup {
  why: string; // empty: the pod fits there
  saidBy: string;
  count: number; // of nodes
  nodes: NodeReason[];
}

// The scheduling gates that hold the pod, without the one of Divvy's queues.
export function otherGates({ gates }: Explanation): string[] {
  return (gates ?? []).filter((name) => name !== "divvy.dev/queued");
}

// A node that has too few devices says how many; its devices say why.
function reasonOf(node: NodeReason): string {
  const said = new Set((node.devices ?? []).map((device) => device.why ?? "").filter((why) => why !== ""));
  return [node.why ?? "", [...said].sort().join("; ")].filter((text) => text !== "").join(": ");
}

// Nodes that fit come first, then the most frequent reasons. Each node counts once, by its own reason; the counted
// reasons are used where no node is listed.
export function groupReasons({ nodes, reasons }: Explanation): ReasonGroup[] {
  const groups = new Map<string, ReasonGroup>();
  const seen = new Set<string>();
  for (const node of nodes ?? []) {
    if (seen.has(node.node)) continue;
    seen.add(node.node);
    const why = node.fits ? "" : reasonOf(node);
    const key = node.fits ? "fits" : `${node.said_by ?? ""}:${why}`;
    const group = groups.get(key) ?? { why, saidBy: node.said_by ?? "", count: 0, nodes: [] };
    group.count += 1;
    group.nodes.push(node);
    groups.set(key, group);
  }
  for (const [why, count] of Object.entries(seen.size > 0 ? {} : (reasons ?? {}))) {
    if (count > 0) groups.set(`:${why}`, { why, saidBy: "", count, nodes: [] });
  }
  const rank = (group: ReasonGroup): number => (group.nodes[0]?.fits ? Number.POSITIVE_INFINITY : group.count);
  return [...groups.values()].sort((a, b) => rank(b) - rank(a) || a.why.localeCompare(b.why));
}
