// Other nodes that this one shows. They are read through it, and it changes nothing there.
import { computed, effect, signal } from "@preact/signals";
import type { GetNodeResponse, ListPodsResponse, Pod } from "../api/gen";
import { ApiError, messageOf } from "../api/request";
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
/** hasNeighbours: a file that cannot be used is to be seen, too. */
export const hasNeighbours = computed(() => neighbours.value.length > 0 || neighboursProblem.value !== "");

export const pathAt = (name: string) => `/ui/at/${encodeURIComponent(name)}`;

async function read<T>(path: string): Promise<T> {
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-store" });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text) as T;
  const [, message] = /"message": *"((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  throw new ApiError(answer.status, message ? (JSON.parse(`"${message}"`) as string) : text || `HTTP ${answer.status}`);
}

/** readNeighbours lists the nodes. Users of some namespaces have none, and nor has the read-only port. */
export async function readNeighbours(): Promise<void> {
  try {
    neighbours.value = (await read<{ nodes: Neighbour[] }>("/ui/at")).nodes;
    neighboursProblem.value = "";
  } catch (error) {
    if (!(error instanceof ApiError)) return; // this node is away
    neighbours.value = [];
    neighboursProblem.value = error.http === 403 ? "" : error.message;
  }
}

let known = "";
effect(() => {
  const { name = "", live = false } = session.value ?? {};
  if (name === known) return;
  known = name;
  if (live) void readNeighbours();
});

onLeaving(() => {
  neighbours.value = [];
  neighboursProblem.value = "";
});

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
