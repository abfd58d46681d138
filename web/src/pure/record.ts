// What happened to the pods of a name, on one time axis: runs, failures of probes, events, and who changed what.
import type { AuditEntry, Event } from "../api/gen";
import { deeds } from "./deeds";
import type { Span } from "./line";
import { type Reach, reaches } from "./past";
import { said } from "./said";
import { seconds } from "./time";

/** Run is one run of a container. */
export interface Run {
  uid: string;
  container: string;
  from: number; // milliseconds
  to: number;
  /** How it ended; undefined while it goes on. */
  end: End | undefined;
}

export interface End {
  /** Counted from 0; undefined if no event says it. */
  attempt: number | undefined;
  code: number;
  message: string;
}

export interface Happening {
  id: string;
  at: number; // milliseconds
  kind: "probe" | "event" | "change";
  container: string;
  bad: boolean;
  label: string;
  detail: string;
  count: number;
}

const minutes: Reach = { id: "minutes", words: "10 minutes", length: 600_000, step: 15 };

export const reachesOfRecord: readonly Reach[] = [minutes, ...reaches];

/** reachOf returns the reach that is asked for, or else the shortest of minutes and an hour that has all events of a pod, if there is one. */
export function reachOf(asked: string | null, events: readonly Event[], uid: string, now: number): Reach {
  const found = reachesOfRecord.find((reach) => reach.id === asked);
  if (found) return found;
  const first = Math.min(...events.filter((e) => e.uid === uid).map((e) => msOf(e.firstTime ?? e.time)));
  return Number.isFinite(first) && now - first < minutes.length ? minutes : reaches[0]!;
}

const msOf = (time: string | undefined) => Date.parse(time ?? "");

/** oldestFirst sorts events; those of the same moment stay in the order of their revisions. */
export const oldestFirst = (events: readonly Event[]): Event[] =>
  [...events].filter((e) => !Number.isNaN(msOf(e.time))).sort((a, b) => msOf(a.time) - msOf(b.time) || Number(a.revision ?? 0) - Number(b.revision ?? 0));

const ended = /attempt (\d+), ended with exit code (-?\d+)(?:: ([^]*))?$/;

const endOf = (e: Event): End => {
  const [, attempt, code = "0", message = ""] = ended.exec(e.message ?? "") ?? [];
  return { attempt: attempt === undefined ? undefined : Number(attempt), code: Number(code), message: said(message).trim() };
};

/** runsOf returns the runs of all containers, oldest first. A run without an end goes on until now, if its pod is the present one. */
export function runsOf(events: readonly Event[], present: string, now: number): Run[] {
  const runs: Run[] = [];
  const open = new Map<string, Run>();
  for (const e of oldestFirst(events)) {
    const uid = e.uid ?? "";
    const container = e.container ?? "";
    const key = `${uid}/${container}`;
    const at = msOf(e.time);
    if (e.reason === "Started") {
      const run = { uid, container, from: at, to: at, end: undefined };
      open.set(key, run);
      runs.push(run);
    } else if (e.reason === "Exited") {
      const took = seconds(e.took) * 1000;
      let run = open.get(key);
      if (!run) runs.push((run = { uid, container, from: at - took, to: at, end: undefined }));
      // The event is of the time at which the end was found, which may be after a restart of the agent.
      run.to = took > 0 ? Math.min(at, run.from + took) : at;
      run.end = endOf(e);
      open.delete(key);
    }
  }
  for (const run of open.values()) if (run.uid === present) run.to = Math.max(now, run.from);
  return runs;
}

const ofRuns = new Set(["Started", "Exited"]);

/** happeningsOf returns what else happened, oldest first. Of the audit log it takes what changes or enters a pod. */
export function happeningsOf(events: readonly Event[], entries: readonly AuditEntry[]): Happening[] {
  const told = oldestFirst(events)
    .filter((e) => !ofRuns.has(e.reason ?? ""))
    .map((e): Happening => ({
      id: `event ${e.revision}`,
      at: msOf(e.time),
      kind: e.reason === "Unhealthy" || e.reason === "ProbeWarning" ? "probe" : "event",
      container: e.container ?? "",
      bad: e.type === "EVENT_TYPE_WARNING",
      label: e.reason ?? "",
      detail: said(e.message ?? ""),
      count: e.count ?? 1,
    }));
  const changing = entries.filter((e) => e.verb !== "read" && e.verb !== "secrets" && !e.method?.endsWith("/Plan"));
  const changes = deeds(changing).map((d): Happening => ({
    id: `deed ${d.id}`,
    at: msOf(d.time),
    kind: "change",
    container: "",
    bad: d.state === "failed" || d.state === "denied",
    label: said(`${d.who} ${d.what}`.trim()),
    detail: said([d.outcome, d.from && `from ${d.from}`].filter(Boolean).join(", ")),
    count: 1,
  }));
  return [...told, ...changes].filter((h) => !Number.isNaN(h.at)).sort((a, b) => a.at - b.at);
}

/** within returns what lies in a span. */
export const within = <T extends { at: number }>(all: readonly T[], { from, to }: Span): T[] => all.filter((one) => one.at >= from && one.at <= to);

/** endsOf returns the runs that have ended, the latest first. */
export const endsOf = (runs: readonly Run[], container = ""): Run[] =>
  runs.filter((run) => run.end && (!container || run.container === container)).sort((a, b) => b.to - a.to);

/** clocks returns round times of the day within a span, about so many. */
export function clocks({ from, to }: Span, about: number): number[] {
  const minute = 60_000;
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((n) => n * minute);
  const step = steps.find((s) => (to - from) / s <= about) ?? steps.at(-1)!;
  // Local midnight is the origin, so that a day begins at a line.
  const zone = new Date(from).getTimezoneOffset() * minute;
  const found: number[] = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) found.push(at);
  return found;
}
