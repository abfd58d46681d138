// What the node has recorded of usage, as points and marks of a chart.
import type { Event, UsagePoint } from "../api/gen";
import type { Span } from "./line";
import type { Point } from "./usage";

/** Reach says how far back a chart goes. */
export interface Reach {
  id: string;
  words: string;
  length: number; // milliseconds
  step: number; // seconds of one point
}

const hour = 3_600_000;

export const reaches: readonly Reach[] = [
  { id: "hour", words: "1 hour", length: hour, step: 15 },
  { id: "day", words: "1 day", length: 24 * hour, step: 120 },
  { id: "week", words: "1 week", length: 7 * 24 * hour, step: 900 },
];

/** holeOf returns the distance of points, in milliseconds, that a line does not join: nothing was recorded between them. */
export const holeOf = ({ step }: Reach) => Math.max(step * 3, step === 900 ? 3600 : 45) * 1000;

/** pointsOf returns the points that have a figure. */
export const pointsOf = (points: readonly UsagePoint[], figure: "cores" | "workingSetBytes"): Point[] =>
  points.flatMap((p) => (p[figure] === undefined || p.time === undefined ? [] : { at: Date.parse(p.time), value: Number(p[figure]) }));

export interface Mark {
  at: number; // milliseconds
  label: string;
}

const forMemory = ["OOMKilled", "SystemOOM", "Evicted", "Preempting"];

/** marksOf returns when memory ran out, or a pod had to go, in a time. */
export const marksOf = (events: readonly Event[], { from, to }: Span): Mark[] =>
  events.flatMap((e) => {
    const at = Date.parse(e.time ?? "");
    return forMemory.includes(e.reason ?? "") && at >= from && at <= to ? { at, label: `${e.reason}: ${e.message ?? ""}` } : [];
  });
