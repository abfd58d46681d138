// Several nodes in one list.
import type { GetNodeResponse, Pod } from "../api/gen";
import { ofNode, troubleOf } from "./conditions";
import { find, type Wanted } from "./find";
import { type Health, healthOf } from "./health";

export interface Shown {
  name: string;
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
  pod: Pod;
}

/** podsOfAll lists the pods of all nodes, those in trouble first. Each word has to be in the pod, or in the name of its node. */
export function podsOfAll(nodes: readonly Shown[], wanted: Wanted, at: number): Place[] {
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  const of = new Map<Pod, string>();
  for (const { name, pods } of nodes) {
    const text = words.filter((word) => !name.toLowerCase().includes(word)).join(" ");
    for (const pod of find(pods, { ...wanted, text }, new Map(), at)) of.set(pod, name);
  }
  return find([...of.keys()], { ...wanted, text: "" }, new Map(), at).map((pod) => ({ node: of.get(pod)!, pod }));
}
