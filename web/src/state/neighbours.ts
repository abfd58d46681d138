// Other nodes that this one shows. They are read through it, and it changes nothing there.
import { effect, signal } from "@preact/signals";
import type { GetNodeResponse, ListPodsResponse, Pod } from "../api/gen";
import { messageOf } from "../api/request";
import { getNode, listPods } from "../pure/calls";
import { onLeaving, session } from "./session";

export interface Neighbour {
  name: string;
  /** Where its own dashboard is, with a sign-in of its own. */
  url: string;
}

export const neighbours = signal<readonly Neighbour[]>([]);
/** neighboursProblem says why the file of nodes cannot be used. */
export const neighboursProblem = signal("");

export const pathAt = (name: string) => `/ui/at/${encodeURIComponent(name)}`;

async function read<T>(path: string): Promise<T> {
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-store" });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text) as T;
  const [, message] = /"message": *"((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  throw new Error(message ? (JSON.parse(`"${message}"`) as string) : text || `HTTP ${answer.status}`);
}

/** readNeighbours lists the nodes. Users of some namespaces have none, and nor has the read-only port. */
async function readNeighbours(): Promise<void> {
  try {
    neighbours.value = (await read<{ nodes: Neighbour[] }>("/ui/at")).nodes;
    neighboursProblem.value = "";
  } catch (error) {
    neighbours.value = [];
    neighboursProblem.value = messageOf(error);
  }
}

let known = "";
effect(() => {
  const { name = "", live = false } = session.value ?? {};
  if (name === known) return;
  known = name;
  if (live) void readNeighbours();
});

onLeaving(() => (neighbours.value = []));

/** Seen holds the last answers of a node. */
export interface Seen {
  node?: GetNodeResponse;
  pods: readonly Pod[];
  /** Why it does not answer now; empty if it does. */
  problem: string;
}

export async function look(name: string, before: Seen | undefined): Promise<Seen> {
  try {
    const [node, { pods = [] }] = await Promise.all([read<GetNodeResponse>(pathAt(name) + getNode("").path), read<ListPodsResponse>(pathAt(name) + listPods().path)]);
    return { node, pods, problem: "" };
  } catch (error) {
    return { ...before, pods: before?.pods ?? [], problem: messageOf(error) };
  }
}
