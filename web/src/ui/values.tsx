// Values as text: unknown ones, names, amounts, instants, states.
import type { ComponentChildren, JSX } from "preact";
import { t, tOf } from "../core/i18n";
import { visibleText } from "../core/names";
import { nodeLink } from "../core/paths";
import { formatAgo, formatBytes, formatDuration, formatInstant, formatPercent, type Maybe } from "../core/units";
import { nowMs } from "../data/clock";
import { isCluster } from "../data/session";
import { Icon, type IconName } from "./icons";

export function NotKnown({ why }: { why?: string }): JSX.Element {
  const text = why ? t("value.not_known_why", { why }) : t("value.not_known");
  return (
    <span class="not-known" title={text}>
      <span aria-hidden="true">—</span>
      <span class="sr-only">{text}</span>
    </span>
  );
}

interface ValueProps<T> {
  value: Maybe<T>;
  why?: string; // the reason, where the value is not known
}

function valueComponent(format: (value: number) => string) {
  return function Value({ value, why }: ValueProps<number>): JSX.Element {
    return value == null ? <NotKnown why={why} /> : <span class="figure">{format(value)}</span>;
  };
}

export const Bytes = valueComponent(formatBytes);
export const Percent = valueComponent(formatPercent);
export const Permille = valueComponent((value) => formatPercent(value / 10));
export const Duration = valueComponent(formatDuration);
export const Count = valueComponent((value) => value.toLocaleString());

// A name that a user chose: isolated, so that right-to-left text does not disturb what is around it.
export function Name({ text }: { text: string }): JSX.Element {
  const shown = visibleText(text);
  return <bdi class="name" dir="auto" title={shown}>{shown}</bdi>;
}

// A name of which the end stays visible: pods of one owner differ there.
export function EndOfName({ text }: { text: string }): JSX.Element {
  const shown = visibleText(text);
  return <span class="ends" title={shown}><bdi>{shown}</bdi></span>;
}

// The node of a page's object, beside its title.
export function NodeName({ node }: { node: Maybe<string> }): JSX.Element {
  return <span class="muted">{t("column.node")} {node ? isCluster() ? <a href={nodeLink(node)}><Name text={node} /></a> : <Name text={node} /> : <NotKnown />}</span>;
}

// Names as links, beside each other.
export function Links({ names, link }: { names: Maybe<string[]>; link(name: string): string }): JSX.Element {
  if (names == null) return <NotKnown />;
  if (names.length === 0) return <span class="muted">{t("value.none")}</span>;
  return <ul class="tags">{names.map((name) => <li key={name}><a href={link(name)}><Name text={name} /></a></li>)}</ul>;
}

// A sentence that may hold such names; it breaks into lines.
export function Sentence({ text }: { text: string }): JSX.Element {
  return <bdi class="sentence">{visibleText(text)}</bdi>;
}

export function Ago({ at }: { at: Maybe<number> }): JSX.Element {
  if (at == null) return <NotKnown />;
  return <time class="figure" dateTime={new Date(at).toISOString()} title={formatInstant(at)}>
    {formatAgo(at, nowMs.value)}
  </time>;
}

export type Tone = "good" | "neutral" | "waiting" | "broken" | "idle";

const kTones: Record<string, Tone> = {
  healthy: "good", running: "good", here: "good", faulty: "broken", broken: "broken", critical: "broken",
  excluded: "idle", reserved: "neutral", orphaned: "waiting", warning: "waiting", "waits-for-room": "waiting",
  "waits-for-quota": "waiting", "never-fits": "broken", unreachable: "broken", "never-reached": "waiting", info: "neutral",
  ready: "good", "not-ready": "broken", unreadable: "broken", cordoned: "idle", pending: "waiting", ending: "idle",
  held: "waiting", unscheduled: "waiting", "in-force": "good", fault: "broken",
  advice: "waiting", fits: "good", "too-early": "idle",
};
const kSigns: Record<Tone, IconName> = {
  good: "ok", neutral: "info", waiting: "warning", broken: "critical", idle: "info",
};

// A state as sign and word: never by colour only.
export function State({ kind, value, reason }: { kind: string; value: string; reason?: Maybe<string> }): JSX.Element {
  const tone = kTones[value] ?? "neutral";
  return (
    <span class={`state tone-${tone}`} title={reason ? visibleText(reason) : undefined}>
      <Icon name={kSigns[tone]} />
      <span>{tOf(`${kind}.`, value)}</span>
    </span>
  );
}

export interface Fact {
  label: string;
  value: ComponentChildren;
  hint?: string;
  wide?: boolean;
}

// Whether a fact shows something else than that it is not known.
export function isKnown({ value }: Fact): boolean {
  const node = value as { type?: unknown; props?: Record<string, unknown> } | null;
  return node?.type !== NotKnown && !["value", "at"].some((name) => node?.props && name in node.props && node.props[name] == null);
}

// Label and value pairs in columns.
export function Facts({ facts }: { facts: Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(({ label, value, hint, wide }) => (
        <div class={wide ? "fact wide" : "fact"} key={label} title={hint}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
