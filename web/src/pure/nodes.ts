// Several nodes in one list.
import type { GetNodeResponse, Pod } from "../api/gen";
import { ofNode, troubleOf } from "./conditions";
import { find, type Wanted } from "./find";
import { type Health, healthOf } from "./health";

export interface Shown {
  name: string;
  /** The path of its pages. Names do not tell nodes apart: the file of nodes may give another one the name of this one. */
  base: string;
  node: GetNodeResponse | undefined;
  pods: readonly Pod[];
  problem: string;
}

export interface Standing {
  health: Health;
  words: string;
  why: string;
}

/** standingOf says how a node is. One that does not answer is in trouble, whatever it said before. */
export function standingOf({ node, problem }: Shown): Standing {
  if (problem) return { health: "failed", words: "No answer", why: problem };
  if (!node) return { health: "starting", words: "Asking", why: "" };
  const bad = ofNode(node.conditions ?? []).find((line) => line.health === "failing");
  if (bad) return { health: "failing", words: bad.type === "Ready" ? "Not ready" : bad.type, why: troubleOf(bad).message };
  return node.cordon ? { health: "leaving", words: "Cordoned", why: node.cordon.reason ?? "" } : { health: "ready", words: "Ready", why: "" };
}

export const troubled = (pods: readonly Pod[], at: number) => pods.filter((pod) => ["failing", "failed"].includes(healthOf(pod, at))).length;

export interface Place {
  node: string;
  base: string;
  pod: Pod;
}

/** podsOfAll lists the pods of all nodes, those in trouble first. Each word has to be in the pod, or in the name of its node. */
export function podsOfAll(nodes: readonly Shown[], wanted: Wanted, at: number): Place[] {
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  const of = new Map<Pod, Shown>();
  for (const one of nodes) {
    const { name, pods } = one;
    const text = words.filter((word) => !name.toLowerCase().includes(word)).join(" ");
    for (const pod of find(pods, { ...wanted, text }, new Map(), at)) of.set(pod, one);
  }
  return find([...of.keys()], { ...wanted, text: "" }, new Map(), at).map((pod) => {
    const { name: node, base } = of.get(pod)!;
    return { node, base, pod };
  });
}

/** atMost returns a function that runs tasks, so many at a time. */
export function atMost(most: number) {
  let free = most;
  const waiting: Array<() => void> = [];
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (free > 0) free--;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
