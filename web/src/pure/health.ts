// How a pod is, in one of six words. Each has a shape of its own beside its
// colour, for those who cannot tell the colours apart.
import type { Pod } from "../api/gen";
import type { PodObject, Terminated } from "../api/kube";
import { containersOf, lasts } from "./containers";
import { said } from "./said";

export type Health = "ready" | "starting" | "failing" | "done" | "failed" | "leaving";

export const healths: readonly Health[] = ["failing", "failed", "starting", "leaving", "ready", "done"]; // worst first

export const healthNames: Record<Health, string> = {
  ready: "Ready",
  starting: "Starting",
  failing: "In trouble",
  done: "Completed",
  failed: "Failed",
  leaving: "Terminating",
};

const harmless = new Set(["", "ContainerCreating", "PodInitializing", "Completed"]);

export function healthOf(pod: Pod): Health {
  if (pod.deletionDeadline) return "leaving";
  switch (pod.phase) {
    case "POD_PHASE_SUCCEEDED":
      return "done";
    case "POD_PHASE_FAILED":
      return "failed";
  }
  if (pod.ready) return "ready";
  return harmless.has(pod.reason ?? "") ? "starting" : "failing";
}

/** isOver: it has run, and will not again. */
export const isOver = (pod: Pod) => pod.phase === "POD_PHASE_SUCCEEDED" || pod.phase === "POD_PHASE_FAILED";

export type PodName = Pick<Pod, "namespace" | "name">;

export const keyOf = (pod: PodName) => `${pod.namespace}/${pod.name}`;

/** nameOf leaves out the namespace where most pods are. */
export const nameOf = (pod: PodName) => (pod.namespace === "default" ? pod.name : keyOf(pod));

export const objectOf = (pod: Pod) => (pod.object ?? {}) as PodObject;

/** readiness is how many of the containers that last are ready, of how many. */
export function readiness(pod: Pod): { ready: number; all: number } {
  const lasting = containersOf(objectOf(pod)).filter(lasts);
  return { ready: lasting.filter((c) => c.status?.ready).length, all: lasting.length };
}

/** reasonOf is one word: a pod that runs and is not ready has none of its own. */
export function reasonOf(pod: Pod): string {
  const health = healthOf(pod);
  return pod.reason || (health === "starting" && pod.phase === "POD_PHASE_RUNNING" ? "NotReady" : healthNames[health]);
}

/**
 * whyOf is the sentence behind the reason. A container that ran and failed
 * tells more by its exit code than by how long it is held back.
 * What a probe last said is in no pod, but in the events.
 */
export const whyOf = (pod: Pod, probe = "") => said(sentenceOf(pod, probe));

function sentenceOf(pod: Pod, probe: string): string {
  if (pod.reason === "CrashLoopBackOff") {
    for (const { name, status } of containersOf(objectOf(pod))) {
      const last = status?.lastState?.terminated;
      const waiting = status?.state?.waiting;
      if (waiting?.reason === "CrashLoopBackOff" && last) {
        const held = /back-off \S+/.exec(waiting.message ?? "")?.[0].replace("back-off", "next start held back for") ?? "";
        return [endOf(name, last), held].filter(Boolean).join(" · ");
      }
    }
  }
  if (pod.phase === "POD_PHASE_FAILED" && !pod.message) {
    const ends = containersOf(objectOf(pod)).map((c) => ({ name: c.name, end: c.status?.state?.terminated }));
    const bad = ends.find(({ end }) => end?.exitCode);
    return bad ? endOf(bad.name, bad.end!) : "";
  }
  const pull = /\bpull image (\S+): (.*)$/s.exec(pod.message ?? "");
  // The runtime names the image in each layer of its error; the cause is last.
  if (pull) {
    const cause = pull[2]!.split(/": /).pop()!;
    return cause.includes(pull[1]!) ? cause : `${pull[1]}: ${cause}`;
  }
  if (!pod.message && pod.phase === "POD_PHASE_RUNNING" && !pod.ready) {
    const ready = objectOf(pod).status?.conditions?.find((c) => c.type === "Ready");
    return probe ? plainly(probe) : (ready?.message ?? "");
  }
  return pod.message ?? "";
}

/** endOf is how a run of a container ended, and its last words. */
function endOf(name: string, { reason, exitCode, message }: Terminated): string {
  const how = reason && reason !== "Error" ? `${reason}, exit code ${exitCode}` : `exit code ${exitCode}`;
  return [`${name}: ${how}`, message?.trim()].filter(Boolean).join(" · ");
}

/** plainly is what a probe said, without the words that all of them begin with. */
const plainly = (probe: string) => probe.replace(/(Startup|Readiness|Liveness) probe (failed|errored): /, (_, kind: string) => `${kind.toLowerCase()}: `).replace("the command ended with exit code", "exit code");
