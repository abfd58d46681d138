// The progress of an applied bundle or of a pulled image.
import type { Outcome, Pod, Pull } from "../api/gen";
import { type Health, healthOf } from "./health";
import { bytes } from "./time";

export type Stage = "waiting" | "ready" | "trouble" | "ended";

/** stageOf returns the stage of one pod of a bundle. pod is the one that has its name now. */
export function stageOf(outcome: Outcome, pod: Pod | undefined): Stage {
  if (!pod || (outcome.uid && pod.uid !== outcome.uid)) return "waiting"; // the previous pod is still ending
  // After an update in place the old state shows until the new one is known.
  if (Number(pod.revision ?? 0) < Number(outcome.revision ?? 0)) return "waiting";
  const stages: Record<Health, Stage> = { ready: "ready", done: "ended", failed: "trouble", failing: "trouble", starting: "waiting", leaving: "waiting" };
  return stages[healthOf(pod)];
}

export interface Standing {
  all: number;
  waiting: number;
  trouble: number;
  over: boolean;
}

/** podsOf returns the pods of a bundle that should exist in the end. */
export const podsOf = (outcomes: readonly Outcome[]) => outcomes.filter((o) => o.kind === "Pod" && o.result !== "RESULT_DELETED");

export function standingOf(stages: readonly Stage[]): Standing {
  const count = (of: Stage) => stages.filter((s) => s === of).length;
  return { all: stages.length, waiting: count("waiting"), trouble: count("trouble"), over: stages.every((s) => s === "ready" || s === "ended") };
}

/** pullWords says how far a pull has come; the duration follows it. */
export function pullWords({ beganAt, bytes: got }: Pull): string {
  if (!beganAt) return "has waited in the queue for";
  return got ? `${bytes(Number(got.present ?? 0))} of ${bytes(Number(got.total ?? 0))} after` : "pulling for";
}
