// What an action on several pods means for each of them.
import type { Pod } from "../api/gen";
import { keyOf, objectOf } from "./health";

/** Fate says what becomes of a pod that is to be deleted. */
export interface Fate {
  pod: Pod;
  /** Why it stays; empty if it goes. */
  stays: string;
  /** The volumes whose content goes with it. */
  lost: string[];
  /** The claims that stay. */
  kept: string[];
}

export function fateOf(pod: Pod): Fate {
  const volumes = objectOf(pod).spec?.volumes ?? [];
  const claims = volumes.flatMap((v) => (v["persistentVolumeClaim"] as { claimName?: string } | undefined)?.claimName ?? []);
  const stays = pod.deletionDeadline ? "it is going already" : pod.source !== "api" ? `it comes from ${pod.source}: remove it there` : "";
  return { pod, stays, lost: volumes.filter((v) => v["emptyDir"] || v["ephemeral"]).map((v) => v.name), kept: claims };
}

/** fateWords says it in a line. */
export function fateWords({ stays, lost, kept }: Fate): string {
  if (stays) return `stays: ${stays}`;
  const parts = [lost.length > 0 && `with what it wrote into ${lost.join(", ")}`, kept.length > 0 && `${kept.join(", ")} ${kept.length > 1 ? "stay" : "stays"}`];
  return parts.filter(Boolean).join("; ") || "it has no volume to lose";
}

/** selectedOf returns the pods that are selected and still there: a successor of the same name was not selected. */
export const selectedOf = (selected: ReadonlyMap<string, string>, pods: ReadonlyMap<string, Pod>): Pod[] =>
  [...selected].flatMap(([key, uid]) => {
    const pod = pods.get(key);
    return pod?.uid === uid ? [pod] : [];
  });

/** toggled returns a selection with pods added, or removed if all of them are in it. */
export function toggled(selected: ReadonlyMap<string, string>, pods: readonly Pod[]): Map<string, string> {
  const next = new Map(selected);
  const all = pods.length > 0 && pods.every((pod) => next.get(keyOf(pod)) === pod.uid);
  for (const pod of pods) {
    if (all) next.delete(keyOf(pod));
    else next.set(keyOf(pod), pod.uid ?? "");
  }
  return next;
}
