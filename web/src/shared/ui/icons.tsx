// The few pictures that the interface has, as outlines in the colour of the text beside them.
import type { JSX } from "preact";

const PATHS = {
  home: "M3 11.5 12 4l9 7.5M5.5 10v9.5h13V10",
  flask: "M9.5 3.5h5M10.5 3.5v6L5 19a1 1 0 0 0 .9 1.5h12.2A1 1 0 0 0 19 19l-5.5-9.5v-6M7.6 15h8.8",
  queue: "M4 6h16M4 12h16M4 18h10",
  cluster: "M4 5h16v6H4zM4 13h16v6H4zM7.5 8h.01M7.5 16h.01",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  down: "m6 9 6 6 6-6",
  up: "m6 15 6-6 6 6",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l4.5 4.5",
  close: "M6 6l12 12M18 6 6 18",
  check: "m5 12.5 4.5 4.5L19 7.5",
  user: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM4.5 20c.8-3.6 3.8-5.5 7.5-5.5s6.700 1.900 7.500 5.500",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  folder: "M3.500 6h6l2 2.500h9V19h-17z",
  terminal: "M4 5h16v14H4zM7.500 9.500l3 2.500-3 2.500M12.500 15h4",
  cube: "M12 3.500 19.500 7.500v9L12 20.500 4.500 16.500v-9zM4.500 7.500 12 11.500l7.500-4M12 11.500v9",
  gear: "M12 8.500a3.500 3.500 0 1 1 0 7 3.500 3.500 0 0 1 0-7zM12 3v2.500M12 18.500V21M3 12h2.500M18.500 12H21M5.600 5.600l1.800 1.800M16.600 16.600l1.800 1.800M18.400 5.600l-1.800 1.800M7.400 16.600l-1.800 1.800",
  plus: "M12 5v14M5 12h14",
  columns: "M4 5h16v14H4zM9.500 5v14M15 5v14",
  filter: "M4 6h16M7 12h10M10 18h4",
  key: "M8 10.500a4 4 0 1 1 0 3M12 12h9v3.500M17 12v2.500",
  bell: "M6 17h12l-1.500-2.500V10a4.500 4.500 0 0 0-9 0v4.500zM10.500 19.500h3",
  star: "m12 4 2.500 5.200 5.500.800-4 4 1 5.700-5-2.700-5 2.700 1-5.700-4-4 5.500-.800z",
  save: "M12 4v11M7.500 11l4.500 4.500 4.500-4.500M4.500 19.500h15",
  group: "M9 5a3.500 3.500 0 1 1 0 7 3.500 3.500 0 0 1 0-7zM3 19c.6-3 3-4.500 6-4.500s5.400 1.500 6 4.500M15.500 5.500a3.300 3.300 0 0 1 0 6.200M17.500 14.800c2 .6 3.200 2 3.500 4.200",
  shield: "M12 3.500 19 6v5.500c0 4.300-2.900 7.500-7 9-4.100-1.500-7-4.700-7-9V6z",
  history: "M4 12a8 8 0 1 0 2.500-5.800M4 4.500v4h4M12 8v4.500l3 2",
  rules: "M6 3.500h9l3.500 3.500v13.500H6zM9 10.500h6.500M9 14h6.500M9 17.500h4",
  scale: "M12 4v16M7 20h10M5 7.500l7-2 7 2M5 7.500 2.500 14h5zM19 7.500 16.500 14h5z",
  chart: "M4 4v16h16M8 15.500v-4M12 15.500v-8M16 15.500v-6",
  rows: "M4 6h16M4 10.700h16M4 15.300h16M4 20h16",
  grip: "M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01",
  book: "M12 6.5C10 5 7 4.500 4 4.500v13.500c3 0 6 .5 8 2 2-1.500 5-2 8-2V4.500c-3 0-6 .5-8 2zM12 6.500V20",
  info: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16zM12 11v5M12 8h.01",
  palette: "M4 20h16M6 16l8.500-8.500 2.500 2.500L8.500 18.500H6z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width={name === "more" || name === "grip" ? 2.6 : 1.8} stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" class="icon">
      <path d={PATHS[name]} />
    </svg>
  );
}
