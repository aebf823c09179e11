// Symbols, 16 by 16, drawn with the colour of the text.
import type { JSX } from "preact";

const kShapes = {
  overview: "M2 2.5h5v5H2zM9 2.5h5v3H9zM9 7.5h5v6H9zM2 9.5h5v4H2z",
  devices: "M4 4h8v8H4zM6.5 6.5h3v3h-3zM6 1.5V4M10 1.5V4M6 12v2.5M10 12v2.5M1.5 6H4M1.5 10H4M12 6h2.5M12 10h2.5",
  shares: "M2 3h12M2 3v3h7V3M2 6.5V13h12V3M9 9.5V13M2 9.5h12",
  waiting: "M4 2h8M4 14h8M4.5 2c0 3.5 3 4 3.5 6-.5 2-3.5 2.5-3.5 6M11.5 2c0 3.5-3 4-3.5 6 .5 2 3.5 2.5 3.5 6",
  nodes: "M2 2.5h12v4.5H2zM2 9h12v4.5H2zM4.5 4.75h.5M4.5 11.25h.5M9 4.75h2.5M9 11.25h2.5",
  workloads: "M8 1.8l6 3.1-6 3.1-6-3.1zM2 8l6 3.1L14 8M2 11.1l6 3.1 6-3.1",
  queues: "M2 3h5v3H2zM9 6.5h5v3H9zM9 11h5v3H9zM4.5 6v6.5H9M4.5 8H9",
  pools: "M2 4.5C2 1.5 14 1.5 14 4.5S2 7.5 2 4.5zM2 4.5v7c0 3 12 3 12 0v-7M2 8c0 3 12 3 12 0",
  teams: "M6 3a2.3 2.3 0 1 0 0 4.6A2.3 2.3 0 0 0 6 3zM1.8 13.2c0-5 8.4-5 8.4 0M10.5 3.3a2.2 2.2 0 0 1 0 4.1M11.8 9.6c1.6.6 2.4 1.8 2.4 3.6",
  models: "M8 1.8l5.4 3.1v6.2L8 14.2l-5.4-3.1V4.9zM2.6 4.9L8 8l5.4-3.1M8 8v6.2",
  usage: "M7 2.2a6 6 0 1 0 6.8 6.8H7zM9.5 1.8a5 5 0 0 1 4.7 4.7H9.5z",
  rightsize: "M2 2.5h12v11H2zM2 8h6.5v5.5M12 4.5L9.5 7M9.5 4.8V7h2.2",
  planner: "M2.5 13.5v-4h3v4zM6.5 13.5v-7h3v7zM10.5 13.5v-11h3v11z",
  events: "M2 4h1.5M2 8h1.5M2 12h1.5M6 4h8M6 8h8M6 12h5",
  about: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.2v4M8 4.6v.4",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4l3.4 3.4",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  ok: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM5.2 8.2l2 2 3.6-4",
  warning: "M8 2L1.6 13.4h12.8zM8 6.4v3.4M8 11.4v.3",
  critical: "M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3zM8 4.8v3.8M8 10.6v.4",
  info: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.2v4M8 4.6v.4",
  up: "M8 12.5v-9M4.5 7L8 3.5 11.5 7",
  down: "M8 3.5v9M4.5 9L8 12.5 11.5 9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  turn: "M5 3.2l8 4.8-8 4.8z",
  keyboard: "M1.5 4h13v8h-13zM4 6.5h.5M7 6.5h.5M10 6.5h.5M12 6.5h.3M4.5 9.5h7",
} as const;

export type IconName = keyof typeof kShapes;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={kShapes[name]} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round"
        stroke-linejoin="round" />
    </svg>
  );
}

export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">
      <rect x="2" y="2" width="20" height="20" rx="5" class="logo-frame" />
      <rect x="5" y="5" width="6" height="14" rx="1.5" class="logo-a" />
      <rect x="13" y="5" width="6" height="6" rx="1.5" class="logo-b" />
      <rect x="13" y="13" width="6" height="6" rx="1.5" class="logo-c" />
    </svg>
  );
}
