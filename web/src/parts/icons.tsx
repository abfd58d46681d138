// Icons. Each has text beside it or in a label.
import type { Health } from "../pure/health";

const shapes: Record<Health, string> = {
  ready: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm-1 8.6L4.4 8l1-1L7 8.6 10.6 5l1 1Z",
  starting: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 1.6a4.4 4.4 0 1 1 0 8.8 4.4 4.4 0 0 1 0-8.8Z",
  failing: "M8 1.6 15 14H1ZM7.2 6v4h1.6V6Zm0 5v1.6h1.6V11Z",
  failed: "M3 3h10v10H3Zm2.2 3.2L7 8l-1.8 1.8 1 1L8 9l1.8 1.8 1-1L9 8l1.8-1.8-1-1L8 7 6.2 5.2Z",
  done: "M6.4 12.6 2 8.2l1.3-1.3 3.1 3.1 6.3-6.4L14 4.9Z",
  leaving: "M2 7.2h9.2L8.4 4.4l1.2-1.2L14.2 8l-4.6 4.8-1.2-1.2 2.8-2.8H2Z",
};

export function HealthIcon({ health }: { health: Health }) {
  return (
    <svg class={`health ${health}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path fill-rule="evenodd" d={shapes[health]} />
    </svg>
  );
}

const drawings = {
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.5 1.5M11.5 11.5 13 13M13 3l-1.5 1.5M4.5 11.5 3 13",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6Z",
  system: "M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  code: "m5.5 4.5-3.5 3.5 3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  close: "m4 4 8 8M12 4l-8 8",
  down: "M8 2.5v9M4.5 8 8 11.5 11.5 8M3 14h10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.3 10.3 14 14",
  out: "M9.5 8h-7M5 5 2.5 8 5 11M7 2.5h6.5v11H7",
  plus: "M8 3v10M3 8h10",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  unlock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 4.8-.9",
} as const;

export function Icon({ name }: { name: keyof typeof drawings }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={drawings[name]} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
