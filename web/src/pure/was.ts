// How a pod was at an earlier revision, and what is different now.
import type { Event } from "../api/gen";

export interface Look {
  at: string; // revision
  label: string;
  time: string;
}

/** looksOf returns the moments between the events of a pod, the latest first: each is after one event and before the next. */
export function looksOf(events: readonly Event[]): Look[] {
  const known = events.filter((e) => e.revision && e.time).sort((a, b) => Number(BigInt(a.revision!) - BigInt(b.revision!)));
  return known
    .slice(0, -1)
    .map((e, i) => ({ at: String(BigInt(known[i + 1]!.revision!) - 1n), label: `${e.reason}${e.container ? ` ${e.container}` : ""}`, time: e.time! }))
    .reverse();
}

export interface Change {
  path: string;
  was?: unknown;
  is?: unknown;
}

/** Fields that differ between any two states. */
const moving = ["metadata.resourceVersion"];

/** changesOf lists the fields in which two objects differ. */
export function changesOf(was: unknown, is: unknown, path = ""): Change[] {
  if (moving.includes(path) || JSON.stringify(was) === JSON.stringify(is)) return [];
  if (isObject(was) && isObject(is)) {
    const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
    const under = (name: string) => (Array.isArray(was) ? `${path}[${name}]` : path ? `${path}.${name}` : name);
    return names.flatMap((name) => changesOf(was[name], is[name], under(name)));
  }
  return [{ path, was, is }];
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
