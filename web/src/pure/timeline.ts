// The steps of a pod as lanes with bars: one lane for the pod and its images, one for each
// container.
import type { Step } from "../api/gen";
import { seconds, span } from "./time";

export interface Bar {
  from: number; // seconds since the pod was accepted
  to: number;
  kind: "pull" | "sandbox" | "create" | "start" | "run" | "hold";
  bad: boolean;
  open: boolean; // it has not ended
  label: string;
  detail: string;
}

export interface Mark {
  at: number;
  bad: boolean;
  label: string;
  detail: string;
  count: number;
}

export interface Lane {
  name: string; // empty: the pod itself
  bars: Bar[];
  marks: Mark[];
}

export interface Chart {
  lanes: Lane[];
  end: number; // seconds, of the last step
  ready: number | null; // when all containers were ready for the first time
}

/** chart arranges steps in lanes, in the order of the pod's containers. */
export function chart(steps: readonly Step[], order: readonly string[], now: number): Chart {
  const lanes = new Map<string, Lane>([["", { name: "", bars: [], marks: [] }]]);
  for (const name of order) lanes.set(name, { name, bars: [], marks: [] });
  const running = new Map<string, number>(); // the start of each container's present run
  const exited = new Map<string, number>();
  const pulling = new Map<string, number>();
  let ready: number | null = null;
  let end = 0;
  for (const step of steps) {
    const at = seconds(step.sinceAccepted);
    const took = seconds(step.took);
    const name = step.container ?? "";
    let lane = lanes.get(name);
    if (!lane) lanes.set(name, (lane = { name, bars: [], marks: [] }));
    end = Math.max(end, at);
    const bar = (kind: Bar["kind"], from: number, bad = false) =>
      lane.bars.push({ from: Math.max(0, from), to: at, kind, bad, open: false, label: step.what ?? "", detail: step.message ?? "" });
    switch (step.what) {
      case "Pulling":
        pulling.set(name, at);
        break;
      case "Failed": {
        const since = pulling.get(name);
        if (since !== undefined) bar("pull", since, true);
        pulling.delete(name);
        mark(lane, step, at, now);
        break;
      }
      case "Pulled":
        pulling.delete(name);
        bar("pull", at - took);
        break;
      case "SandboxCreated":
        bar("sandbox", at - took);
        break;
      case "Created":
        bar("create", at - took);
        break;
      case "Started": {
        const since = exited.get(name);
        // The time between two runs is mostly back-off.
        if (since !== undefined && at - took - since > 0.02)
          lane.bars.push({ from: since, to: at - took, kind: "hold", bad: false, open: false, label: "Held back", detail: "before the next start" });
        if (took) bar("start", at - took);
        running.set(name, at);
        break;
      }
      case "Exited": {
        bar("run", running.get(name) ?? at - took, step.warning ?? false);
        running.delete(name);
        exited.set(name, at);
        break;
      }
      case "Ready":
        ready ??= at;
        mark(lane, step, at, now);
        break;
      default:
        mark(lane, step, at, now);
    }
  }
  const goesOn = (name: string, from: number, kind: "run" | "pull", label: string) =>
    lanes.get(name)?.bars.push({ from, to: Math.max(now, from), kind, bad: false, open: true, label, detail: "" });
  for (const [name, from] of pulling) goesOn(name, from, "pull", "Pulling");
  for (const [name, from] of running) goesOn(name, from, "run", "Running");
  return { lanes: [...lanes.values()], end, ready };
}

const done: Record<Bar["kind"], string> = { sandbox: "sandbox", pull: "image", create: "create", start: "start", run: "ran", hold: "held back" };
const going: Partial<typeof done> = { pull: "pulling the image for", run: "running for" };
const failed: Partial<typeof done> = { pull: "image not pulled, after", run: "failed after" };

const nameOf = ({ kind, open, bad }: Bar) => (open && going[kind]) || (bad && failed[kind]) || done[kind];

/** wordsOf returns the name of a bar, and its duration if it is known. */
export const wordsOf = (bar: Bar) => (bar.to > bar.from ? `${nameOf(bar)} ${span(bar.to - bar.from)}` : nameOf(bar));

const most = 9;

/** told describes a lane in words, step by step; of many steps, the first and the last. */
export function told(lane: Lane): string {
  const words = [...lane.bars].sort((a, b) => a.from - b.from).map(wordsOf);
  const shown = words.length <= most ? words : [...words.slice(0, 4), `… ${words.length - 8} more …`, ...words.slice(-4)];
  return shown.join(", ");
}

const apart = 1 / 200; // of the whole time: closer marks would overlap

/** mark counts a quick repetition as one mark. */
function mark(lane: Lane, step: Step, at: number, now: number): void {
  const last = lane.marks.at(-1);
  if (last && last.label === step.what && last.detail === step.message && at - last.at < now * apart) {
    last.count++;
    return;
  }
  lane.marks.push({ at, bad: step.warning ?? false, label: step.what ?? "", detail: step.message ?? "", count: 1 });
}

/** ticks returns about so many round times within a span. */
export function ticks(from: number, to: number, about: number): number[] {
  const rough = (to - from) / about;
  if (!(rough > 0)) return [from];
  const steps = [1, 2, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10(rough)));
  const clockwise = [15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400];
  const step = (rough < 10 ? steps : clockwise).find((s) => s >= rough) ?? Math.ceil(rough / 86_400) * 86_400;
  const found: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to + 1e-9; t += step) found.push(Number(t.toPrecision(12)));
  return found;
}
