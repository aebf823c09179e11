// Bars of amounts: allocated is an outline, used a fill, swapped a hatch.
import type { JSX } from "preact";
import { memoryBar } from "../core/bar_parts";
import { t } from "../core/i18n";
import { visibleText } from "../core/names";
import { shareLink } from "../core/paths";
import { formatBytes, formatPercent, type Maybe, ratioPercent } from "../core/units";
import { hiddenFor } from "../data/session";
import type { Device } from "../data/types";
import { Name } from "./values";

const clamp = (value: number): number => Math.max(0, Math.min(100, value));

interface MeterProps {
  used: Maybe<number>;
  allocated?: Maybe<number>;
  swapped?: Maybe<number>;
  total: Maybe<number>;
  label: string; // read by screen readers; says of what the bar is
  level?: boolean; // colour by thresholds
}

// A small bar of a table row. What is allocated beyond the total ends at the bar's end with a mark. What is allocated
// is shown where use is not known.
export function Meter({ used, allocated, swapped, total, label, level }: MeterProps): JSX.Element {
  const usedPart = ratioPercent(used, total);
  const allocatedPart = ratioPercent(allocated, total);
  const swappedPart = ratioPercent(swapped, total);
  const over = allocatedPart !== null && allocatedPart > 100.5;
  const high = level && usedPart !== null && usedPart >= 95;
  return (
    <span class={`meter${over ? " over" : ""}${usedPart === null && allocatedPart === null ? " unknown" : ""}`} role="img" aria-label={label} title={label}>
      {!!allocatedPart && <span class="meter-allocated" style={{ width: `${clamp(allocatedPart)}%` }} />}
      {swappedPart !== null && swappedPart > 0 && usedPart !== null && (
        <span class="meter-swapped" style={{ left: `${clamp(usedPart)}%`, width: `${clamp(Math.min(swappedPart, 100 - usedPart))}%` }} />
      )}
      {usedPart !== null && <span class={`meter-used${high ? " high" : ""}`} style={{ width: `${clamp(usedPart)}%` }} />}
    </span>
  );
}

export function amountText(value: Maybe<number>, format: (value: number) => string): string {
  return value == null ? t("value.not_known") : format(value);
}

// "12 GiB used", or that use is not known.
export function useText(value: Maybe<number>, format: (value: number) => string, busy = false): string {
  if (value == null) return t("bar.use_unknown");
  return busy ? t("bar.busy", { n: format(value) }) : t("bar.used", { n: format(value) });
}

export function meterLabel(used: Maybe<number>, allocated: Maybe<number>, total: Maybe<number>): string {
  return t("bar.memory_label", {
    used: useText(used, formatBytes), allocated: amountText(allocated, formatBytes), total: amountText(total, formatBytes),
  });
}

export function computeLabel(used: Maybe<number>, requested: Maybe<number>): string {
  return t("bar.compute_label", { used: useText(used, formatPercent, true), allocated: amountText(requested, formatPercent) });
}

// The memory of one device: each share's limit as an outline, in it what is used and what is swapped.
export function DeviceBar({ device, legend = true }: { device: Device; legend?: boolean }): JSX.Element {
  const bar = memoryBar(device);
  const turn = device.turn_tenant;
  const width = (permille: number): string => `${permille / 10}%`;
  return (
    <div class="device-bar-frame">
      <div class="device-bar" role="group" aria-label={t("device.bar_label")}>
        {bar.parts.map((part, index) => {
          const source = device.parts?.[index];
          const text = t("device.part_label", {
            name: visibleText(part.name) || t("device.others"),
            used: useText(source?.used_bytes, formatBytes), limit: amountText(source?.limit_bytes, formatBytes),
          });
          return (
            <a key={part.share} class={`device-part${part.share === turn ? " has-turn" : ""}`} href={part.share ? shareLink(part.share) : undefined}
              style={{ left: width(part.start), width: width(part.width) }} title={text} aria-label={text}>
              <span class="part-used" style={{ width: `${(part.used / Math.max(part.width, 0.001)) * 100}%` }} />
              {part.swapped > 0 && (
                <span class="part-swapped" style={{ width: `${(part.swapped / Math.max(part.width, 0.001)) * 100}%` }} />
              )}
              {part.width > 70 && <span class="part-name"><Name text={part.name} /></span>}
            </a>
          );
        })}
        {bar.other > 0 && (
          <span class="device-other" style={{ width: width(bar.other) }} title={hiddenFor("shares") ? t("device.other_use_hidden") : t("device.other_use")} />
        )}
        {bar.physical < 999.5 && bar.physical > 0 && (
          <span class="device-end" style={{ left: width(bar.physical) }} title={t("device.physical_end")} />
        )}
      </div>
      <div class="device-scale" aria-hidden="true">
        <span>0</span>
        {bar.physical < 999.5 && bar.physical > 0 && bar.physical < 900 && (
          <span class="scale-end" style={{ left: width(bar.physical) }}>{formatBytes(device.memory_total_bytes ?? 0)}</span>
        )}
        <span>{formatBytes(bar.scaleBytes)}</span>
      </div>
      {legend && <Legend names={["allocated", "used", "swapped", "other"]} />}
    </div>
  );
}

type LegendName = "allocated" | "used" | "swapped" | "other" | "compute" | "unhealthy" | "guarantee" | "borrowed" | "cordoned" | "unknown";

export function Legend({ names }: { names: LegendName[] }): JSX.Element {
  const texts: Record<LegendName, string> = {
    allocated: t("legend.allocated"), used: t("legend.used"), swapped: t("legend.swapped"), other: t("legend.other"),
    compute: t("legend.compute"), unhealthy: t("legend.unhealthy"), guarantee: t("legend.guarantee"), borrowed: t("legend.borrowed"),
    cordoned: t("legend.cordoned"), unknown: t("value.not_known"),
  };
  return (
    <ul class="legend">
      {names.map((name) => <li key={name}><span class={`key key-${name}`} aria-hidden="true" />{texts[name]}</li>)}
    </ul>
  );
}
