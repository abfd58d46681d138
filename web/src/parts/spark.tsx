// A small chart of usage, with the value under the pointer.
import { useSignal } from "@preact/signals";
import { draw, nearest, type Span, topOf } from "../pure/line";
import { clock } from "../pure/time";
import type { Mark } from "../pure/past";
import type { Point } from "../pure/usage";

interface Props {
  points: readonly Point[];
  span: Span;
  /** The limit; null: unlimited. */
  limit?: number | null;
  /** The scale reaches at least this value, so that tiny amounts look tiny. */
  least: number;
  words: (value: number) => string;
  label: string;
  small?: boolean;
  marks?: readonly Mark[];
  /** The distance of points, in milliseconds, that the line does not join. */
  hole?: number;
}

export function Spark({ points, span, limit = null, least, words, label, small, marks = [], hole }: Props) {
  const shown = useSignal<Point | null>(null);
  const top = topOf(points, limit, least);
  const { line, area } = draw(points, span, top, hole);
  const place = (p: { at: number }) => ((p.at - span.from) / (span.to - span.from)) * 100;
  const move = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    shown.value = nearest(points.filter((p) => p.at >= span.from), span.from + ((event.clientX - box.left) / box.width) * (span.to - span.from));
  };
  const last = points.at(-1);
  const most = Math.max(...points.map((p) => p.value));
  return (
    <div class={small ? "spark small" : "spark"} onPointerMove={move} onPointerLeave={() => (shown.value = null)}>
      <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={last ? `${label}: now ${words(last.value)}, at most ${words(most)} in this time, on a scale to ${words(top)}` : `${label}: no figures yet`}>
        {area && <path class="spark-area" d={area} />}
        {limit !== null && <path class="spark-limit" d={`M0 ${100 - (limit / top) * 100}H1000`} />}
        {line && <path class="spark-line" d={line} />}
      </svg>
      {marks.map((m) => (
        <i class="past-mark" style={{ left: `${place(m)}%` }} title={m.label} />
      ))}
      {last && <span class="spark-top">{words(top)}</span>}
      {shown.value && (
        <>
          <i class="spark-at" style={{ left: `${place(shown.value)}%` }} />
          <span class={place(shown.value) > 60 ? "spark-tip left" : "spark-tip"} style={{ left: `${place(shown.value)}%` }}>
            <b>{words(shown.value.value)}</b> {clock(shown.value.at)}
          </span>
        </>
      )}
    </div>
  );
}

interface MeterProps {
  part: number;
  whole: number;
  label: string;
  /** Being full is the goal here, not a warning. */
  aim?: boolean;
}

/** Meter shows which part of a whole is used or done. */
export function Meter({ part, whole, label, aim }: MeterProps) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return (
    <div class={share > 0.85 && !aim ? "meter high" : "meter"} role={aim ? "progressbar" : "meter"} aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}>
      <i style={{ width: `${share * 100}%` }} />
    </div>
  );
}
