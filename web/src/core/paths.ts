// Paths of pages relative to the base path, and what they show. Pure.

export type PageName =
  | "overview" | "devices" | "device" | "shares" | "share" | "waiting" | "planner" | "events" | "about"
  | "nodes" | "node" | "waiting-pod" | "workloads" | "workload" | "queues" | "queue" | "pools" | "teams" | "models"
  | "usage" | "rightsize" | "login" | "unknown";

// Pages that look different in a cluster, or that only a cluster has: on one machine those addresses name no page.
const kClusterPages: readonly PageName[] = [
  "waiting", "nodes", "node", "waiting-pod", "workloads", "workload", "queues", "queue", "pools", "teams", "models",
];

export type PageScript = "common" | "cluster" | "work" | "usage" | "rightsize" | "planner" | "items";

// The script that has a page.
export function scriptOf(page: PageName, isCluster: boolean): PageScript {
  if (page === "usage" || page === "rightsize" || page === "planner") return page;
  if (page === "device" || page === "share") return "items";
  if (!isCluster || !kClusterPages.includes(page)) return "common";
  return /^(queue|workload)/.test(page) ? "work" : "cluster";
}

export interface Place {
  page: PageName;
  id: string; // of a page of one object, else ""
}

const kPages: Record<string, PageName> = {
  "": "overview", devices: "devices", shares: "shares", waiting: "waiting", planner: "planner",
  events: "events", about: "about", login: "login", nodes: "nodes", workloads: "workloads", queues: "queues",
  pools: "pools", teams: "teams", models: "models", usage: "usage", rightsize: "rightsize",
};
const kItems: Record<string, PageName> = {
  devices: "device", shares: "share", nodes: "node", workloads: "workload", queues: "queue", waiting: "waiting-pod",
};

// The page of a URL's path; `basePath` begins and ends with a slash.
export function placeOf(pathname: string, basePath: string): Place {
  if (!`${pathname}/`.startsWith(basePath)) return { page: "unknown", id: "" };
  const parts = pathname.slice(basePath.length).split("/").filter((part) => part !== "");
  const head = parts[0] ?? "";
  if (parts.length <= 1) return { page: kPages[head] ?? "unknown", id: "" };
  const item = kItems[head];
  const id = decodePart(parts.slice(1).join("/"));
  const isItem = item && (item !== "waiting-pod" || id.includes("/"));
  return isItem ? { page: item, id } : { page: "unknown", id: "" };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Links are relative to <base href>, so that one build serves any base path.
// An ID may have slashes: NAMESPACE/POD.
export const idPath = (id: string): string => id.split("/").map(encodeURIComponent).join("/");
export const deviceLink = (id: string): string => `devices/${idPath(id)}`;
export const shareLink = (id: string): string => `shares/${idPath(id)}`;
export const nodeLink = (id: string): string => `nodes/${idPath(id)}`;
export const queueLink = (id: string): string => `queues/${idPath(id)}`;
export const waitingLink = (id: string): string => `waiting/${idPath(id)}`;
export const workloadLink = (namespace: string, owner: string): string => `workloads/${idPath(`${namespace}/${owner}`)}`;

// A list with a filter.
export const filteredLink = (list: string, ...filters: string[]): string =>
  `${list}?${new URLSearchParams(filters.map((filter) => ["filter", filter]))}`;

// A server's relative link, refused (null) where it could lead out of the console.
export function safeLink(link: Maybe<string>): string | null {
  if (!link || !/^[a-z]/.test(link) || /^[a-z][a-z0-9+.-]*:/i.test(link)) return null;
  return link.includes("//") || link.includes("\\") || link.split(/[/?#]/).includes("..") ? null : link;
}
type Maybe<T> = T | null | undefined;
