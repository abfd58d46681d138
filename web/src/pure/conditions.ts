// What is so with a node or a pod, as lines that say which of it is well.
import type { NodeCondition } from "../api/gen";
import type { Condition } from "../api/kube";
import type { Health } from "./health";

export interface ConditionLine {
  type: string;
  health: Health;
  /** What stands beside the type: why it is not well, or else its status. */
  words: string;
  message: string;
  since: string;
}

/** ofPod has no tick at what a pod goes through for as long as it is so. */
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

/** ofNode turns around what is well when it is not so: the node's shortages. */
export function ofNode(conditions: readonly NodeCondition[]): ConditionLine[] {
  return conditions.map(({ type = "", status = "", reason = "", message = "", transitionedAt: since = "" }) => {
    const health = status === "Unknown" ? "starting" : (status === "True") === (type === "Ready") ? "ready" : "failing";
    return { type, health, words: health === "ready" ? status : reason, message: health === "ready" ? "" : message, since };
  });
}

const shortages: Record<string, string> = { MemoryPressure: "memory", DiskPressure: "room on its disk", PIDPressure: "process numbers" };

/** troubleOf is what a condition that is not well means for pods. */
export function troubleOf({ type, message }: ConditionLine): { title: string; message: string } {
  if (type === "Ready") return { title: "The node is not ready", message: `${message}. Pods that run go on; none is started.` };
  return { title: `The node is short of ${shortages[type] ?? type}`, message };
}
