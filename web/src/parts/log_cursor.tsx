// Keyboard navigation of a log, which is one tab stop.
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Line } from "../pure/ring";
import type { Listed, Standing } from "../pure/rows";
import { isCommand } from "./keys";

interface Where {
  box: { current: HTMLDivElement | null };
  rowHeight: number;
  shown: ReadonlySignal<Listed>;
  rows: ReadonlySignal<Standing>;
  following: Signal<boolean>;
  opened: Signal<Line | null>;
}

const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 };

/** useCursor keeps a cursor on a line by its number, and opens that line. */
export function useCursor({ box, rowHeight, shown, rows, following, opened }: Where) {
  const cursor = useSignal(-1);
  const onKeyDown = (event: JSX.TargetedKeyboardEvent<HTMLDivElement>) => {
    if (isCommand(event)) return;
    const index = indexOf(shown.value, cursor.value);
    if (event.key === "Enter" && index >= 0) opened.value = shown.value.at(index)!;
    const by = steps[event.key];
    if (!by || shown.value.count === 0) return;
    event.preventDefault();
    const b = box.current!;
    const seen = rows.value.at(by > 0 ? Math.ceil(b.scrollTop / rowHeight) : Math.floor((b.scrollTop + b.clientHeight) / rowHeight) - 1);
    const next = Math.max(0, Math.min(shown.value.count - 1, index < 0 ? seen : index + by));
    following.value = false;
    cursor.value = shown.value.at(next)?.id ?? -1;
    const [top, end] = [rows.value.top(next) * rowHeight, rows.value.top(next + 1) * rowHeight];
    b.scrollTop = Math.min(top, Math.max(b.scrollTop, end - b.clientHeight));
  };
  return { cursor, onKeyDown };
}

/** indexOf returns the index of a line by its number; -1: it is gone or filtered out. */
function indexOf({ count, at }: Listed, id: number): number {
  let low = 0;
  for (let high = count; low < high; ) {
    const middle = (low + high) >> 1;
    if ((at(middle)?.id ?? Infinity) < id) low = middle + 1;
    else high = middle;
  }
  return at(low)?.id === id ? low : -1;
}
