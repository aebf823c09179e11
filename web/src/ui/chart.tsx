// One time chart by uPlot. Loaded when a page with history is opened.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { language } from "../core/i18n";
import { zoomRange } from "../core/time_range";
import { formatClock } from "../core/units";
import type { ChartLine, HistoryData } from "./history";

interface ChartProps {
  data: HistoryData;
  lines: ChartLine[];
  format(value: number): string;
  top?: number; // the least upper end of the scale
  from: number;
  to: number;
  scheme: string; // light or dark: with another one the chart is drawn again
  onZoom(from: number, to: number): void;
  onReset(): void;
}

const kHeight = 168;
const kDashes: number[][] = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

const sync = uPlot.sync("divvy-history");

export default function Chart(props: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const plot = new uPlot(optionsOf(latest, element, legend), seriesData(props), element);
    sync.sub(plot);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: kHeight }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      sync.unsub(plot);
      plot.destroy();
    };
  }, [props.data, props.from, props.to, props.scheme, language.value]);
  return (
    <div class="chart">
      <ul class="chart-legend" ref={legend}>
        {props.lines.map((line, index) => (
          <li key={line.what}>
            <svg width="22" height="8" aria-hidden="true" class={`line-key tone-line-${line.tone}`}>
              <line x1="0" y1="4" x2="22" y2="4" stroke="currentColor" stroke-width="2"
                stroke-dasharray={(kDashes[index] ?? []).join(" ")} />
            </svg>
            <span>{line.label}</span>
            <span class="figure chart-value" />
          </li>
        ))}
      </ul>
      <div class="plot" ref={box} onDblClick={props.onReset} aria-hidden="true" />
    </div>
  );
}

function seriesData(props: ChartProps): uPlot.AlignedData {
  const columns = props.lines.map((line) => props.data.mean[line.what] ?? props.data.t.map(() => null));
  const maxima = props.data.hasMaxima ? props.lines.map((line) => props.data.max[line.what] ?? props.data.t.map(() => null)) : [];
  return [props.data.t, ...columns, ...maxima] as uPlot.AlignedData;
}

function cssColor(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function optionsOf(
  latest: { current: ChartProps }, element: HTMLDivElement, legend: { current: HTMLUListElement | null },
): uPlot.Options {
  const { lines, format, top, from, to, data } = latest.current;
  const grid = { stroke: cssColor(element, "--line"), width: 1 };
  const axis = { stroke: cssColor(element, "--muted"), font: "12px system-ui, sans-serif", grid, ticks: { show: false } };
  const colors = lines.map((line) => cssColor(element, `--tone-${line.tone}`));
  const means = lines.map((line, index): uPlot.Series => ({
    label: line.label, stroke: colors[index], width: 1.75, dash: kDashes[index], spanGaps: false, points: { show: false },
    fill: index === 0 ? fade(colors[index] ?? "", 0.1) : undefined,
  }));
  const maxima = data.hasMaxima ? lines.map((_, index): uPlot.Series => ({
    stroke: fade(colors[index] ?? "", 0.35), width: 1, spanGaps: false, points: { show: false },
  })) : [];
  return {
    width: Math.max(element.clientWidth, 100), height: kHeight, ms: 1, legend: { show: false }, pxAlign: 1,
    padding: [8, 22, 0, 0],
    cursor: { sync: { key: sync.key }, drag: { x: true, y: false, setScale: false }, points: { size: 7 } },
    scales: { x: { time: true, range: () => [from, to] }, y: { range: (_, low, high) => scaleOf(low, high, top) } },
    axes: [
      { ...axis, values: (_, splits, __, ___, step) => splits.map((at) => axisTime(at, step)), size: 30 },
      { ...axis, values: (_, splits) => splits.map((value) => format(value).replace(/[.,]0 /, " ")), size: 70, splits: data.byteScale ? byteSplits : undefined },
    ],
    series: [{}, ...means, ...maxima],
    hooks: {
      setCursor: [(plot) => showValues(plot, latest.current, legend.current)],
      setSelect: [(plot) => {
        const { left, width } = plot.select;
        const range = zoomRange(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        if (range?.kind === "fixed") latest.current.onZoom(range.from, range.to);
      }],
    },
  };
}

function scaleOf(low: number | null, high: number | null, top: number | undefined): [number, number] {
  const most = Math.max(high ?? 0, top ?? 0, low ?? 0);
  return [0, most > 0 ? most * 1.04 : 1];
}

// Steps of a byte axis that are whole numbers of GiB (or of a power of two below it).
function byteSplits(_: uPlot, __: number, min: number, max: number): number[] {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, (max - min) / 4)));
  const splits = [];
  for (let at = 0; at <= max; at += step) splits.push(at);
  return splits;
}

function axisTime(at: number, step: number): string {
  const date = new Date(at);
  const midnight = date.getHours() === 0 && date.getMinutes() === 0;
  const zh = language.value === "zh" ? "zh-CN" : "en-GB";
  if (step >= 86_400_000 || midnight) return date.toLocaleDateString(zh, { month: "short", day: "numeric" });
  return step < 60_000 ? formatClock(at) : date.toLocaleTimeString(zh, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

function fade(color: string, alpha: number): string {
  return `color-mix(in srgb, ${color} ${alpha * 100}%, transparent)`;
}

// The values under the crosshair, or the last ones.
function showValues(plot: uPlot, props: ChartProps, legend: HTMLUListElement | null): void {
  const index = plot.cursor.idx;
  legend?.querySelectorAll(".chart-value").forEach((element, line) => {
    const column = plot.data[line + 1];
    const at = index ?? (column ? column.length - 1 : -1);
    const value = column?.[at];
    element.textContent = value == null ? "—" : props.format(value);
  });
}
