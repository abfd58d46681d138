// The conditions of a node or a pod as lines, each marked as good or bad.
import type { NodeCondition } from "../api/gen";
import type { Condition } from "../api/kube";
import type { Health } from "./health";

export interface ConditionLine {
  type: string;
  health: Health;
  /** The text beside the type: the reason if it is bad, or else its status. */
  words: string;
  message: string;
  since: string;
}

/** ofPod does not mark conditions that a pod passes through as good. */
export const ofPod = (conditions: readonly Condition[]): ConditionLine[] =>
  conditions.map((c) => {
    const isSo = c.status === "True";
    const through = isSo ? passing[c.type] : undefined;
    return {
      type: c.type,
      health: through ?? (isSo ? "ready" : c.reason === "PodCompleted" ? "done" : "starting"),
      words: isSo ? (through && c.reason) || "" : c.reason || c.status,
      message: c.message ?? "",
      since: c.lastTransitionTime ?? "",
    };
  });

const passing: Record<string, Health> = { DisruptionTarget: "leaving", PodResizePending: "starting", PodResizeInProgress: "starting", AllContainersRestarting: "starting" };

/** ofNode inverts the pressures of a node, which are good when they are false. */
export function ofNode(conditions: readonly NodeCondition[]): ConditionLine[] {
  return conditions.map(({ type = "", status = "", reason = "", message = "", transitionedAt: since = "" }) => {
    const health = status === "Unknown" ? "starting" : (status === "True") === (type === "Ready") ? "ready" : "failing";
    return { type, health, words: health === "ready" ? status : reason, message: health === "ready" ? "" : message, since };
  });
}

const shortages: Record<string, string> = { MemoryPressure: "memory", DiskPressure: "disk space", PIDPressure: "process IDs" };

/** troubleOf says what a bad condition means for pods. */
export function troubleOf({ type, message }: ConditionLine): { title: string; message: string } {
  if (type === "Ready") return { title: "The node is not ready", message: `${message}. Running pods are not affected; new ones do not start.` };
  return { title: `The node is short of ${shortages[type] ?? type}`, message };
}
