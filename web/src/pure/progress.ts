// How far things have come: a bundle that was applied, an image that is pulled.
import type { Outcome, Pod, Pull } from "../api/gen";
import { type Health, healthOf } from "./health";
import { bytes } from "./time";

export type Stage = "waiting" | "ready" | "trouble" | "ended";

/** stageOf is where one pod of a bundle is; pod is what the node has under its name now. */
export function stageOf(outcome: Outcome, pod: Pod | undefined): Stage {
  if (!pod || (outcome.uid && pod.uid !== outcome.uid)) return "waiting"; // the one before it still ends
  // In place the old state is told until the new one is known.
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

/** podsOf is those of a bundle that are to be there in the end. */
export const podsOf = (outcomes: readonly Outcome[]) => outcomes.filter((o) => o.kind === "Pod" && o.result !== "RESULT_DELETED");

export function standingOf(stages: readonly Stage[]): Standing {
  const count = (of: Stage) => stages.filter((s) => s === of).length;
  return { all: stages.length, waiting: count("waiting"), trouble: count("trouble"), over: stages.every((s) => s === "ready" || s === "ended") };
}

/** pullWords is how far a pull has come; since when stands behind it. */
export function pullWords({ beganAt, bytes: got }: Pull): string {
  if (!beganAt) return "waits for its turn for";
  return got ? `${bytes(Number(got.present ?? 0))} of ${bytes(Number(got.total ?? 0))} after` : "pulling for";
}
