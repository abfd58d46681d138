// The state of a pod, in one of six words. Each has a shape beside its colour, for users who cannot
// tell the colours apart.
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

/** Times that a pod may need to become ready, in milliseconds. After them, it is in trouble. Pulling an image may take any time. */
const patience: Record<string, number> = { "": 60_000, PodInitializing: 300_000 };

/** unreadySince returns since when a pod is not ready, in milliseconds. */
export function unreadySince(pod: Pod): number {
  const ready = objectOf(pod).status?.conditions?.find((c) => c.type === "Ready");
  return Date.parse(ready?.lastTransitionTime ?? pod.acceptedAt ?? "");
}

/** isLate reports whether a pod has been starting for too long, by the node's time. */
export const isLate = (pod: Pod, at: number) => at - unreadySince(pod) > (patience[pod.reason ?? ""] ?? Infinity) && (pod.phase === "POD_PHASE_RUNNING" || pod.reason === "PodInitializing");

/** healthOf judges by the node's time; without it, a pod is never late. */
export function healthOf(pod: Pod, at = 0): Health {
  if (pod.deletionDeadline) return "leaving";
  switch (pod.phase) {
    case "POD_PHASE_SUCCEEDED":
      return "done";
    case "POD_PHASE_FAILED":
      return "failed";
  }
  if (pod.ready) return "ready";
  return harmless.has(pod.reason ?? "") && !isLate(pod, at) ? "starting" : "failing";
}

/** isOver reports whether a pod has run and will not run again. */
export const isOver = (pod: Pod) => pod.phase === "POD_PHASE_SUCCEEDED" || pod.phase === "POD_PHASE_FAILED";

export type PodName = Pick<Pod, "namespace" | "name">;

export const keyOf = (pod: PodName) => `${pod.namespace}/${pod.name}`;

/** nameOf omits the default namespace. */
export const nameOf = (pod: PodName) => (pod.namespace === "default" ? pod.name : keyOf(pod));

export const objectOf = (pod: Pod) => (pod.object ?? {}) as PodObject;

/** readiness counts the ready ones among the containers that run as long as the pod. */
export function readiness(pod: Pod): { ready: number; all: number } {
  const lasting = containersOf(objectOf(pod)).filter(lasts);
  return { ready: lasting.filter((c) => c.status?.ready).length, all: lasting.length };
}

/** initsOf counts the init containers that are done, and names the one that runs. */
function initsOf(pod: Pod): { done: number; all: number; runs: string } | null {
  const inits = containersOf(objectOf(pod)).filter((c) => c.kind === "init");
  if (inits.length === 0) return null;
  const done = inits.filter((c) => c.status?.state?.terminated?.exitCode === 0).length;
  return { done, all: inits.length, runs: inits.find((c) => c.status?.state?.running)?.name ?? "" };
}

/** reasonOf returns one word. A running pod that is not ready has no reason of its own. */
export function reasonOf(pod: Pod): string {
  const health = healthOf(pod);
  const inits = initsOf(pod);
  if (pod.reason === "PodInitializing" && inits) return `Init ${inits.done}/${inits.all}`;
  return pod.reason || (health === "starting" && pod.phase === "POD_PHASE_RUNNING" ? "NotReady" : healthNames[health]);
}

/**
 * whyOf returns the sentence behind the reason. For a container that has failed, the exit code says
 * more than the back-off. Messages of probes are not in the pod but in the events.
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
  // Each layer of the runtime's error repeats the image; the cause is last.
  if (pull) {
    const cause = pull[2]!.split(/": /).pop()!;
    return cause.includes(pull[1]!) ? cause : `${pull[1]}: ${cause}`;
  }
  if (!pod.message && pod.phase === "POD_PHASE_RUNNING" && !pod.ready) {
    const ready = objectOf(pod).status?.conditions?.find((c) => c.type === "Ready");
    return probe ? plainly(probe) : (ready?.message ?? "");
  }
  const inits = pod.reason === "PodInitializing" ? initsOf(pod) : null;
  if (inits?.runs) return `${inits.runs} runs; the others wait for it`;
  return pod.message ?? "";
}

/** endOf says how a run of a container ended, with its termination message. */
function endOf(name: string, { reason, exitCode, message }: Terminated): string {
  const how = reason && reason !== "Error" ? `${reason}, exit code ${exitCode}` : `exit code ${exitCode}`;
  return [`${name}: ${how}`, message?.trim()].filter(Boolean).join(" · ");
}

/** plainly removes the words with which every probe message begins. */
const plainly = (probe: string) => probe.replace(/(Startup|Readiness|Liveness) probe (failed|errored)( and resulted in unknown state)?: /, (_, kind: string) => `${kind.toLowerCase()}: `).replace("the command ended with exit code", "exit code");
