// The frame of all pages: navigation, state of the connection, language and theme, help.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { language, type Language, setLanguage, t, type TextKey, tn, tOf } from "../core/i18n";
import { visibleText } from "../core/names";
import { filteredLink, type PageName } from "../core/paths";
import { hiddenCollections } from "../core/scope";
import { connection } from "../data/live";
import { overviewModel } from "../data/overview";
import { place } from "../data/router";
import { closeSession, isCluster, limitedScope, session } from "../data/session";
import { Icon, type IconName, Logo } from "./icons";
import { helpOpen, keysOn, pageKeys, setKeysOn } from "./keyboard";
import { closeOnEscape, closeOnLeave } from "./menu";
import { Hidden } from "./states";
import { setTheme, type Theme, theme } from "./theme";
import { EndOfName, Links, Name } from "./values";

interface NavItem {
  page: PageName & IconName;
  also?: PageName; // the page of one object
  title: TextKey;
}

// In the order of a cluster's navigation.
const kItems: NavItem[] = [
  { page: "overview", title: "overview.title" },
  { page: "waiting", also: "waiting-pod", title: "waiting.title" },
  { page: "nodes", also: "node", title: "nodes.title" },
  { page: "devices", also: "device", title: "devices.title" },
  { page: "shares", also: "share", title: "shares.title" },
  { page: "workloads", also: "workload", title: "workloads.title" },
  { page: "queues", also: "queue", title: "queues.title" },
  { page: "pools", title: "pools.title" },
  { page: "teams", title: "teams.title" },
  { page: "models", title: "models.title" },
  { page: "usage", title: "usage.title" },
  { page: "rightsize", title: "rightsize.title" },
  { page: "planner", title: "planner.title" },
  { page: "events", title: "events.title" },
  { page: "about", title: "about.title" },
];
const kLocalPages: readonly PageName[] = ["overview", "devices", "shares", "waiting", "usage", "rightsize", "planner", "events", "about"];

function navItems(): NavItem[] {
  return isCluster() ? kItems : kLocalPages.flatMap((page) => kItems.filter((item) => item.page === page));
}

const pathOf = ({ page }: NavItem): string => (page === "overview" ? "" : page);

export function Shell({ children }: { children: ComponentChildren }): JSX.Element {
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const { page, id } = place.value;
  useEffect(() => {
    setOpen(false);
    // After a change of page the reader begins at the new page's content.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [page, id]);
  useEffect(() => {
    if (!open) return;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") setOpen(false);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [open]);
  useTitle();
  return (
    <div class={open ? "app nav-open" : "app"}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>{t("nav.skip")}</button>
      <header class="topbar">
        <a class="brand" href="./"><Logo /><span>Divvy</span></a>
        <button type="button" class="button quiet" aria-expanded={open} aria-controls="navigation" onClick={() => setOpen(!open)}>
          <Icon name={open ? "close" : "menu"} /><span class="sr-only">{t("nav.menu")}</span>
        </button>
      </header>
      <div class="sidebar" id="navigation">
        <a class="brand wide" href="./"><Logo /><span>Divvy</span></a>
        {session.value?.node && <p class="where"><Name text={session.value.node} /></p>}
        <nav aria-label={t("nav.pages")}>
          <ul>{navItems().map((item) => <NavLink key={item.page} item={item} page={page} />)}</ul>
        </nav>
        <SeenPart />
        <Foot />
      </div>
      <main id="main" ref={main} tabIndex={-1}>{children}</main>
      <Help />
    </div>
  );
}

function NavLink({ item, page }: { item: NavItem; page: PageName }): JSX.Element {
  const current = page === item.page ? "page" : page === item.also ? "true" : undefined;
  return (
    <li>
      <a href={pathOf(item) || "./"} aria-current={current}>
        <Icon name={item.page} /><span class="nav-text">{t(item.title)}</span><NavCount page={item.page} />
      </a>
    </li>
  );
}

// How many requests wait, and how many things need attention.
function NavCount({ page }: { page: PageName }): JSX.Element | null {
  const overview = overviewModel().item.value;
  const urgent = overview?.attention?.filter((item) => item.severity !== "info").length;
  const count = page === "waiting" ? (overview?.waiting ?? 0) + (overview?.never_fit ?? 0) : page === "overview" ? urgent : 0;
  if (!count) return null;
  const label = page === "waiting" ? isCluster() ? tn("count.waiting_pods", count) : tn("count.requests", count) : tn("count.attention", count);
  return <span class="badge figure" title={label}><span aria-hidden="true">{count}</span><span class="sr-only">{label}</span></span>;
}

function useTitle(): void {
  const { page, id } = place.value;
  const item = kItems.find((each) => each.page === page || each.also === page);
  const name = language.value && item ? t(item.title) : "";
  useEffect(() => {
    document.title = [id, name, "Divvy"].filter(Boolean).join(" · ");
  }, [id, name]);
}

const kMaxNamespaces = 100;

// Of a viewer with limited rights: its namespaces, the hidden collections, the rights to ask for.
function SeenPart(): JSX.Element | null {
  const scope = limitedScope();
  if (!scope) return null;
  const names = scope.pods;
  return (
    <details class="seen" onKeyDown={closeOnEscape} onFocusOut={closeOnLeave}>
      <summary>{names ? tn("scope.sees", names.length) : t("scope.sees_all")}</summary>
      <div class="seen-box" tabIndex={0} role="region" aria-label={t("scope.title")}>
        {names && names.length > 0 && <Links names={names.slice(0, kMaxNamespaces)} link={(name) => filteredLink("shares", `namespace=${name}`)} />}
        {names && names.length > kMaxNamespaces && <p>{t("scope.more", { n: names.length - kMaxNamespaces })}</p>}
        {hiddenCollections(scope).map((each) => <Hidden key={each} collection={each} />)}
      </div>
    </details>
  );
}

function Foot(): JSX.Element {
  const user = session.value?.user;
  return (
    <div class="foot">
      {user && <p class="user" title={visibleText(user)}><Icon name="teams" /><span class="sr-only">{t("about.user")}</span><EndOfName text={user} /></p>}
      <p class={`connection is-${connection.value}`} title={tOf("connection.hint.", connection.value)}>
        <span class="dot" aria-hidden="true" />{tOf("connection.", connection.value)}
      </p>
      <div class="foot-row">
        <label>
          <span class="sr-only">{t("nav.language")}</span>
          <select value={language.value} onChange={(event) => void setLanguage(event.currentTarget.value as Language, true)}>
            <option value="en" lang="en">English</option>
            <option value="zh" lang="zh-CN">中文</option>
          </select>
        </label>
        <label>
          <span class="sr-only">{t("nav.theme")}</span>
          <select value={theme.value} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
            <option value="system">{t("theme.system")}</option>
            <option value="light">{t("theme.light")}</option>
            <option value="dark">{t("theme.dark")}</option>
          </select>
        </label>
      </div>
      <div class="foot-row">
        <button type="button" class="button quiet small" onClick={() => { helpOpen.value = true; }}><Icon name="keyboard" />{t("nav.keys")}</button>
        <button type="button" class="button quiet small" onClick={() => void closeSession()}>{t("nav.sign_out")}</button>
      </div>
    </div>
  );
}

function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open && dialog.current?.open) dialog.current.close();
  }, [open]);
  const pages = Object.entries(pageKeys()).map(([key, path]) => {
    const item = kItems.find((each) => pathOf(each) === path);
    return { keys: ["g", key], text: item ? t(item.title) : path };
  });
  const rows = [
    { keys: ["/"], text: t("keys.filter") }, { keys: ["j"], text: t("keys.next") }, { keys: ["k"], text: t("keys.previous") },
    { keys: ["Enter"], text: t("keys.open") }, { keys: ["Esc"], text: t("keys.close") }, { keys: ["?"], text: t("keys.help") },
  ];
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => { helpOpen.value = false; }}>
      <div class="panel-head">
        <h2 id="help-title">{t("keys.title")}</h2>
        <button type="button" class="button quiet small" onClick={() => { helpOpen.value = false; }} aria-label={t("action.close")}>
          <Icon name="close" />
        </button>
      </div>
      <div class="key-columns">
        {[rows, pages].map((list, index) => (
          <dl key={index} class="keys">
            {list.map(({ keys, text }) => (
              <div key={text}><dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{text}</dd></div>
            ))}
          </dl>
        ))}
      </div>
      <label class="check">
        <input type="checkbox" checked={keysOn.value} onChange={(event) => setKeysOn(event.currentTarget.checked)} />
        <span>{t("keys.on")}</span>
      </label>
    </dialog>
  );
}
