// The requests of pods, as the node counts them to decide whether another pod fits.
import type { Pod } from "../api/gen";
import type { Container } from "../api/kube";
import { containersOf } from "./containers";
import { isOver, objectOf } from "./health";
import { quantity } from "./quantity";

type Resource = "cpu" | "memory";

/** requested sums the requests of all pods that have not ended. */
export const requested = (pods: Iterable<Pod>, what: Resource): number =>
  [...pods].filter((pod) => !isOver(pod)).reduce((sum, pod) => sum + requestOf(pod, what), 0);

/** requestOf returns a pod's own request, or the most that its containers request at any one time. */
function requestOf(pod: Pod, what: Resource): number {
  const object = objectOf(pod);
  const of = (c: Pick<Container, "resources">) => quantity(c.resources?.requests?.[what]) ?? 0;
  let most = 0;
  let lasting = 0; // sidecars count from their start on
  for (const { kind, spec } of containersOf(object)) {
    if (kind === "init") most = Math.max(most, lasting + of(spec));
    else lasting += of(spec);
  }
  const own = quantity(object.spec?.resources?.requests?.[what]);
  return (own ?? Math.max(most, lasting)) + (quantity(object.spec?.overhead?.[what]) ?? 0);
}
