// Whether anything will still come from a container.
import type { Pod } from "../api/gen";
import { containersOf } from "./containers";
import { isOver, objectOf } from "./health";

/** hasEnded: the container has run, and the pod's rules start it no more. */
export function hasEnded(pod: Pod, name: string): boolean {
  if (isOver(pod)) return true;
  const object = objectOf(pod);
  const own = containersOf(object).find((c) => c.name === name);
  const ended = own?.status?.state?.terminated;
  if (!own || !ended) return false;
  if (own.kind === "ephemeral") return true;
  if (own.spec.restartPolicyRules) return false; // which of them holds is for the node to say
  const policy = own.spec.restartPolicy ?? object.spec?.restartPolicy;
  // What comes before the others has done its work once it ends well.
  const onceWell = policy === "OnFailure" || own.kind === "init";
  return policy === "Never" || (onceWell && ended.exitCode === 0);
}
