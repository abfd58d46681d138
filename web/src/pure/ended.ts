// Whether a container will still produce output.
import type { Pod } from "../api/gen";
import { containersOf } from "./containers";
import { isOver, objectOf } from "./health";

/** hasEnded reports whether a container has run and its pod's rules do not start it again. */
export function hasEnded(pod: Pod, name: string): boolean {
  if (isOver(pod)) return true;
  const object = objectOf(pod);
  const own = containersOf(object).find((c) => c.name === name);
  const ended = own?.status?.state?.terminated;
  if (!own || !ended) return false;
  if (own.kind === "ephemeral") return true;
  if (own.spec.restartPolicyRules) return false; // only the node knows which rule applies
  const policy = own.spec.restartPolicy ?? object.spec?.restartPolicy;
  // An init container is done once it succeeds.
  const onceWell = policy === "OnFailure" || own.kind === "init";
  return policy === "Never" || (onceWell && ended.exitCode === 0);
}
