// Which containers of which pods stand in one log.
import type { Pod } from "../api/gen";
import { containersOf, lasts } from "./containers";
import { matches } from "./find";
import { keyOf, nameOf, objectOf } from "./health";

export interface LogSource {
  namespace: string;
  name: string;
  uid: string;
  container: string;
  /** The name of the log beside its lines: of the pod, and of the container if there are several. */
  label: string;
}

/** mostSources bounds the logs that a page follows at once. */
export const mostSources = 20;

/**
 * podsFor returns the pods that are asked for, by name. Each part between commas is a pod, NAMESPACE/NAME, or words to
 * search for, as in the list of pods.
 */
export function podsFor(asked: string, pods: readonly Pod[]): Pod[] {
  const parts = asked.split(",").map((part) => part.trim()).filter(Boolean);
  const wanted = (pod: Pod) =>
    parts.some((part) => {
      if (pods.some((one) => keyOf(one) === part)) return keyOf(pod) === part;
      return matches(pod, part.toLowerCase().split(/\s+/));
    });
  return pods.filter(wanted).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** sourcesOf returns the containers of pods that run as long as these. */
export const sourcesOf = (pods: readonly Pod[]): LogSource[] =>
  pods.flatMap((pod) => {
    const all = containersOf(objectOf(pod)).filter(lasts);
    return all.map((c) => ({ namespace: pod.namespace!, name: pod.name!, uid: pod.uid ?? "", container: c.name, label: all.length > 1 ? `${nameOf(pod)} ${c.name}` : nameOf(pod)! }));
  });
