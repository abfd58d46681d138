// Why a run of a container ended, as a sentence and as a text for a ticket.
import type { Happening, Run } from "./record";
import { age, bytes } from "./time";
import type { Point } from "./usage";

export interface Evidence {
  run: Run;
  /** The run that followed; undefined if there was none. */
  next: Run | undefined;
  happenings: readonly Happening[]; // oldest first
  memory: readonly Point[];
  memoryLimit: number | null; // bytes
}

const signals: Record<number, string> = { 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM" };

/** stopOf returns the node's own reason to stop a run; empty if it did not. */
function stopOf({ run, happenings }: Evidence): string {
  const kill = happenings.filter((h) => h.label === "Killing" && h.container === run.container && h.at >= run.from && h.at <= run.to + 1000).at(-1);
  if (!kill) return "";
  const [, reason] = /^Stopping container \S+ (?:within|after) [^:]*: ([^]*)$/.exec(kill.detail) ?? [];
  if (reason) return reason;
  const [, words = kill.detail] = /^Container \S+ (.*?)(?:, will be restarted)?(?: \((?:within|after) [^)]*\))?$/.exec(kill.detail) ?? [];
  return words.replace(/^failed (\w+) probe$/, "its $1 probe failed").replace(/^definition changed$/, "its definition changed");
}

/** causeOf says in one sentence why a run ended, as far as the node knows. */
export function causeOf(evidence: Evidence): string {
  const { run, memoryLimit } = evidence;
  const end = run.end!;
  if (/\bOOMKilled\b/.test(end.message)) return `The kernel killed it: memory had run out${memoryLimit === null ? "" : `, of which the pod may have ${bytes(memoryLimit)}`}.`;
  const stop = stopOf(evidence);
  if (stop) return `The node stopped it: ${stop}.`;
  if (end.code === 0) return "It ended by itself, without an error.";
  const signal = signals[end.code - 128];
  if (signal === "SIGKILL") return "It was killed (SIGKILL), and not by the node: by the kernel, or by a process with the right to do so.";
  if (signal) return `It ended by ${signal} (exit code ${end.code}).`;
  return `It ended by itself, with exit code ${end.code}.`;
}

const before = 10 * 60_000;
const after = 60_000;

const iso = (at: number) => new Date(at).toISOString().replace("T", " ").replace(/\.\d+Z$/, "Z");
const time = (at: number) => iso(at).slice(11);

const lineOf = (h: Happening) => `  ${time(h.at)} ${h.kind === "change" ? "change: " : ""}${h.label}${h.container ? ` ${h.container}` : ""}${h.detail ? `: ${h.detail.replaceAll("\n", " ")}` : ""}${h.count > 1 ? ` (${h.count}×)` : ""}`;

/** sampled returns at most three points before a time: the first, the middle, and the last. */
function sampled(points: readonly Point[], at: number): Point[] {
  const known = points.filter((p) => p.at <= at && p.at >= at - before);
  return [...new Set([0, Math.floor((known.length - 1) / 2), known.length - 1])].flatMap((i) => known[i] ?? []);
}

export interface About {
  namespace: string;
  name: string;
  image: string;
  node: string;
  /** The last lines of the run; null: there is no log of it. */
  log: readonly string[] | null;
}

/** ticketOf writes what the node knows of the end of a run. */
export function ticketOf(evidence: Evidence, about: About): string {
  const { run, next, happenings, memory, memoryLimit } = evidence;
  const end = run.end!;
  const figures = sampled(memory, run.to).map((p) => `${bytes(p.value)} at ${time(p.at)}`);
  const part = (from: number, to: number) => happenings.filter((h) => h.at >= from && h.at <= to).map(lineOf);
  const earlier = part(run.to - before, run.to);
  const later = part(run.to + 1, run.to + after);
  const section = (title: string, lines: readonly string[]) => (lines.length ? ["", title, ...lines] : []);
  return [
    `${about.namespace}/${about.name}, container ${run.container}: ended at ${iso(run.to)} with exit code ${end.code}, after ${plain(age(run.to - run.from))}`,
    causeOf(evidence),
    ...(end.message ? [`Its end said: ${end.message}`] : []),
    next ? `It was started again at ${iso(next.from)}.` : "It was not started again so far.",
    `Image ${about.image || "unknown"}, pod uid ${run.uid}, ${about.node}.`,
    ...(figures.length ? [`Memory of the pod: ${figures.join(", ")}${memoryLimit === null ? "" : `; at most ${bytes(memoryLimit)}`}.`] : []),
    ...section("In the ten minutes before:", earlier),
    ...section("In the minute after:", later),
    ...section("Its last lines:", about.log === null ? ["  (there is no log of this run)"] : about.log.map((l) => `  ${l}`)),
    "",
  ].join("\n");
}

/** plain has no characters that a ticket may show as something else. */
const plain = (text: string) => text.replaceAll("\u00a0", " ");
