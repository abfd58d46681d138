// What pods ask for, as the node counts it when it decides whether another one fits.
import type { Pod } from "../api/gen";
import type { Container } from "../api/kube";
import { isOver, objectOf } from "./health";
import { quantity } from "./quantity";

type Resource = "cpu" | "memory";

/** requested is what all pods ask for that have not ended. */
export const requested = (pods: Iterable<Pod>, what: Resource): number =>
  [...pods].filter((pod) => !isOver(pod)).reduce((sum, pod) => sum + requestOf(pod, what), 0);

/** requestOf is what a pod says itself, or else the most that its containers ask for at any one time. */
function requestOf(pod: Pod, what: Resource): number {
  const spec = objectOf(pod).spec ?? {};
  const of = (c: Pick<Container, "resources">) => quantity(c.resources?.requests?.[what]) ?? 0;
  let most = 0;
  let staying = 0; // sidecars, from their start on
  for (const c of spec.initContainers ?? []) {
    if (c.restartPolicy === "Always") staying += of(c);
    else most = Math.max(most, staying + of(c));
  }
  const running = (spec.containers ?? []).reduce((sum, c) => sum + of(c), staying);
  const own = quantity(spec.resources?.requests?.[what]);
  return (own ?? Math.max(most, running)) + (quantity(spec.overhead?.[what]) ?? 0);
}
