// What a viewer may list, and what to ask for where a list is short or empty for lack of rights. Pure.
import type { Maybe } from "./units";

// `pods` and `events`: the namespaces in which they may be listed; null and absent: all.
export interface Scope {
  everything: boolean;
  nodes: boolean;
  queues: boolean;
  pods?: Maybe<string[]>;
  events?: Maybe<string[]>;
}

export type Collection = "nodes" | "queues" | "pods" | "events";

// The rights as RBAC names them.
export const kRights: Record<Collection, string> = {
  nodes: "list nodes", queues: "list queues.divvy.dev", pods: "list pods", events: "list events",
};

// The collection that the rows of a list are made from.
const kSources: Record<string, Collection> = {
  nodes: "nodes", devices: "nodes", pools: "nodes", queues: "queues", events: "events",
  shares: "pods", waiting: "pods", workloads: "pods", teams: "pods", models: "pods", usage: "pods",
  rightsize: "pods",
};

const mayList = (scope: Scope, collection: Collection): boolean =>
  (collection === "nodes" || collection === "queues" ? scope[collection] : scope[collection] == null);

// The collections that the viewer may not list, or not in all namespaces. No scope hides nothing.
export function hiddenCollections(scope: Maybe<Scope>): Collection[] {
  if (!scope || scope.everything) return [];
  return (Object.keys(kRights) as Collection[]).filter((collection) => !mayList(scope, collection));
}

// The namespace whose rows a filter asks for: "namespace=a", "name=a/pod"; "" if it is none.
export const namespaceOfFilter = (filter: string): string => /^(?:namespace=([^/]+)$|name=([^/]+)\/)/.exec(filter)?.slice(1).find(Boolean) ?? "";

// The collection for lack of which a list of the API (shares, nodes) may have too few rows; else null.
export function hiddenSource(list: string, scope: Maybe<Scope>, filters: readonly string[] = []): Collection | null {
  const source = kSources[list];
  if (!source || !hiddenCollections(scope).includes(source)) return null;
  const seen = namespacesOf(source, scope);
  return filters.some((filter) => seen?.includes(namespaceOfFilter(filter))) ? null : source;
}

// The namespaces in which a collection may be listed; null: it is not one of namespaces, or all.
export function namespacesOf(collection: Collection, scope: Maybe<Scope>): string[] | null {
  return collection === "pods" || collection === "events" ? scope?.[collection] ?? null : null;
}

// The answer of GET login.
export interface LoginWay {
  login: string; // "link", "token", "headers"
  cluster?: Maybe<string>;
  command?: Maybe<string>; // that makes a token
}

// A token as it was pasted: without the white space of a terminal's line breaks, and without the word of a header.
export function pastedToken(text: string): string {
  return text.replace(/^\s*(?:Authorization:\s*)?Bearer\s+/i, "").replace(/\s+/g, "");
}
