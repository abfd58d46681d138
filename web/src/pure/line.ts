// Points as a line in a box of 1000 by 100.
import { gap, type Point } from "./usage";

export interface Span {
  from: number;
  to: number;
}

const spans = [60_000, 120_000, 300_000, 600_000, 900_000];

/** spanOf ends at the newest point and is as short as possible, so that a new chart soon shows something. */
export function spanOf(...series: ReadonlyArray<readonly Point[]>): Span {
  const firsts = series.flatMap((points) => points[0]?.at ?? []);
  const to = Math.max(0, ...series.flatMap((points) => points.at(-1)?.at ?? []));
  const all = to - Math.min(to, ...firsts);
  return { from: to - (spans.find((s) => s >= all) ?? spans.at(-1)!), to };
}

/** topOf returns the top of the scale: the limit, or a round number if there is none. */
export function topOf(points: readonly Point[], limit: number | null, least: number): number {
  const most = Math.max(...points.map((p) => p.value), limit === null ? least : 0);
  if (limit !== null) return Math.max(limit, most);
  const unit = 10 ** Math.floor(Math.log10(most));
  return ([1, 1.5, 2, 3, 5, 7.5, 10].find((n) => n * unit >= most * 1.05) ?? 12) * unit;
}

export interface Drawn {
  line: string;
  area: string;
}

/** draw joins points by a line, unless they are further apart than a hole. */
export function draw(points: readonly Point[], { from, to }: Span, top: number, hole = gap): Drawn {
  const runs: Point[][] = [];
  let last: Point | undefined;
  for (const p of points) {
    if (p.at < from) continue;
    if (!last || p.at - last.at > hole) runs.push([]);
    runs.at(-1)!.push(p);
    last = p;
  }
  const x = (p: Point) => round(((p.at - from) / (to - from)) * 1000);
  const y = (p: Point) => round(100 - (Math.min(p.value, top) / top) * 100);
  // A single point is drawn as a dash, so that it is visible.
  const path = (run: Point[]) => (run.length === 1 ? `M${Math.max(0, x(run[0]!) - 4)} ${y(run[0]!)}H${x(run[0]!)}` : run.map((p, i) => `${i ? "L" : "M"}${x(p)} ${y(p)}`).join(""));
  return {
    line: runs.map(path).join(""),
    area: runs.filter((run) => run.length > 1).map((run) => `${path(run)}V100H${x(run[0]!)}Z`).join(""),
  };
}

const round = (n: number) => Math.round(n * 10) / 10;

/** nearest returns the point nearest to the pointer. */
export function nearest(points: readonly Point[], at: number): Point | null {
  let best: Point | null = null;
  for (const p of points) if (!best || Math.abs(p.at - at) < Math.abs(best.at - at)) best = p;
  return best;
}
