// The failures of a container's probe in its events, as a strip over time.
import type { Event } from "../api/gen";
import { said } from "./said";
import { age } from "./time";

export interface ProbeOf {
  uid: string;
  container: string;
  kind: "startup" | "readiness" | "liveness";
  from: number; // milliseconds: when the run began
  to: number;
  period: number; // seconds
}

export interface ProbePart {
  from: number; // of 1000
  to: number;
  at: number;
  count: number;
  message: string;
}

export interface ProbeStrip {
  parts: ProbePart[];
  failures: number;
  failing: boolean;
  last: string; // the last message, and when
}

// Failures make an event at once, and later one a minute.
const untold = 60_000;

export function probeStrip(events: readonly Event[], of: ProbeOf): ProbeStrip {
  const title = `${of.kind[0]!.toUpperCase()}${of.kind.slice(1)} probe `;
  const told = events
    .filter((e) => e.reason === "Unhealthy" && e.uid === of.uid && e.container === of.container && e.message?.startsWith(title) && Date.parse(e.time ?? "") >= of.from)
    .sort((a, b) => Date.parse(a.time ?? "") - Date.parse(b.time ?? ""));
  const x = (ms: number) => Math.max(0, Math.min(1000, ((ms - of.from) / (of.to - of.from)) * 1000));
  const parts = told.map((e) => {
    const at = Date.parse(e.time!);
    const first = Math.max(of.from, Math.min(at, Date.parse(e.firstTime ?? e.time!)));
    const to = x(at + of.period * 1000);
    return { from: Math.min(x(first), to - 3), to, at, count: e.count ?? 1, message: said(e.message!.slice(title.length).replace(/:?\s*$/, "")) };
  });
  const last = parts.at(-1);
  const silence = Math.max(3 * of.period * 1000, parts.reduce((sum, p) => sum + p.count, 0) > 4 ? untold * 1.2 : 0);
  const failing = last !== undefined && of.to - last.at < silence;
  if (failing) last.to = 1000; // no success since
  return {
    parts,
    failures: parts.reduce((sum, p) => sum + p.count, 0),
    failing,
    last: last ? `${last.message.replace(/^(failed|errored): /, "")}, ${age(of.to - last.at)} ago` : "",
  };
}
