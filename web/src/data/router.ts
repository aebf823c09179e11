// The page that the address names. Links are ordinary <a href> relative to <base>; a click on one is caught here.
import { signal } from "@preact/signals";
import { type Place, placeOf } from "../core/paths";

const basePath = (): string => new URL(document.baseURI).pathname;

export const place = signal<Place>({ page: "overview", id: "" });
export const params = signal(new URLSearchParams());

export function startRouter(): void {
  addEventListener("popstate", read);
  document.addEventListener("click", onClick);
  read();
}

function read(): void {
  const next = placeOf(location.pathname, basePath());
  if (next.page !== place.value.page || next.id !== place.value.id) place.value = next;
  if (location.search !== `?${params.value}` && !(location.search === "" && params.value.toString() === "")) {
    params.value = new URLSearchParams(location.search);
  }
}

// `path` is relative to the base path, without a slash before it.
export function navigate(path: string, search?: URLSearchParams, replace = false): void {
  const url = new URL(path, document.baseURI);
  if (search) url.search = search.toString();
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  read();
  if (!replace) scrollTo(0, 0);
}

// Changes the parameters of this page.
export function setParams(search: URLSearchParams, replace = true): void {
  const url = new URL(location.href);
  url.search = search.toString();
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  read();
}

function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.("a");
  if (!link || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !`${url.pathname}/`.startsWith(basePath())) return;
  if (url.pathname.startsWith(`${basePath()}api/`)) return;
  event.preventDefault();
  if (url.href === location.href) return;
  history.pushState(null, "", url);
  read();
  scrollTo(0, 0);
}
