// Paths of pages relative to the base path, and what they show. Pure.

export type PageName =
  | "overview" | "devices" | "device" | "shares" | "share" | "waiting" | "planner" | "events" | "about"
  | "login" | "unknown";

export interface Place {
  page: PageName;
  id: string; // of a device or share, else ""
}

const kPages: Record<string, PageName> = {
  "": "overview", devices: "devices", shares: "shares", waiting: "waiting", planner: "planner",
  events: "events", about: "about", login: "login",
};
const kItems: Record<string, PageName> = { devices: "device", shares: "share" };

// The page of a URL's path; `basePath` begins and ends with a slash.
export function placeOf(pathname: string, basePath: string): Place {
  if (!`${pathname}/`.startsWith(basePath)) return { page: "unknown", id: "" };
  const parts = pathname.slice(basePath.length).split("/").filter((part) => part !== "");
  const head = parts[0] ?? "";
  if (parts.length <= 1) return { page: kPages[head] ?? "unknown", id: "" };
  const item = kItems[head];
  return item ? { page: item, id: decodePart(parts.slice(1).join("/")) } : { page: "unknown", id: "" };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Links are relative to <base href>, so that one build serves any base path.
export const deviceLink = (id: string): string => `devices/${encodeURIComponent(id)}`;
export const shareLink = (id: string): string => `shares/${encodeURIComponent(id)}`;

// A server's relative link, refused (null) where it could lead out of the console.
export function safeLink(link: Maybe<string>): string | null {
  if (!link || !/^[a-z]/.test(link) || /^[a-z][a-z0-9+.-]*:/i.test(link)) return null;
  return link.includes("//") || link.includes("\\") || link.split(/[/?#]/).includes("..") ? null : link;
}
type Maybe<T> = T | null | undefined;
