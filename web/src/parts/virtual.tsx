// A long list with rows of one height; only the visible rows are drawn.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Window {
  first: number;
  count: number;
}

/** seen returns the rows to draw, with some more around them so that a quick scroll shows no gap. */
export function seen(top: number, height: number, row: number, all: number, around = 8): Window {
  const first = Math.max(0, Math.min(Math.floor(top / row) - around, all - 1));
  const last = Math.min(all, Math.ceil((top + height) / row) + around);
  return { first, count: Math.max(0, last - first) };
}

/** useScroll returns the scroll position of the window, updated once a frame. */
export function useScroll<E extends HTMLElement>(rowHeight: number, all: number) {
  const body = useRef<E>(null);
  const [range, setRange] = useState<Window>({ first: 0, count: 40 });
  const look = () => {
    if (!body.current) return;
    const top = -body.current.getBoundingClientRect().top;
    const next = seen(top, innerHeight, rowHeight, all);
    setRange((old) => (old.first === next.first && old.count === next.count ? old : next));
  };
  useLayoutEffect(look, [all, rowHeight]);
  useEffect(() => {
    let asked = 0;
    const ask = () => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        look();
      });
    };
    addEventListener("scroll", ask, { passive: true });
    addEventListener("resize", ask);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", ask);
      removeEventListener("resize", ask);
    };
  }, [all, rowHeight]);
  return { body, range };
}

/** Spacer fills the place of rows that are not drawn. */
export function Spacer({ rows, rowHeight, children }: { rows: number; rowHeight: number; children?: ComponentChildren }) {
  const style: JSX.CSSProperties = { height: `${rows * rowHeight}px` };
  return <div style={style} aria-hidden="true">{children}</div>;
}
