// The state of the page's watches.
import { computed, signal } from "@preact/signals";
import { nodeTime } from "../api/node_time";
import { ApiError, messageOf } from "../api/request";
import { watch, type WatchHandlers } from "../api/watch";
import type { Call } from "../pure/calls";
import { linkOf, type Watching } from "../pure/link";

const watches = signal<ReadonlyMap<string, Watching>>(new Map());

export const link = computed(() => linkOf(watches.value));

/** reachable is false while the node is away; requests are repeated when it returns. */
export const reachable = computed(() => link.value.state !== "lost");

function note(name: string, to: Watching | null): void {
  const next = new Map(watches.value);
  if (to) next.set(name, to);
  else next.delete(name);
  watches.value = next;
}

export function noteLive(name: string): void {
  if (watches.value.get(name)?.state !== "live") note(name, { state: "live", since: nodeTime(), problem: "" });
}

/** noteLost records when a watch was lost, not when it was last retried. A refused watch is not lost. */
export function noteLost(name: string, error: unknown): void {
  if (error instanceof ApiError && error.http === 401) return; // the node answers: only the session has ended
  const state = error instanceof ApiError && error.http === 403 ? "refused" : "lost";
  const known = watches.value.get(name);
  note(name, { state, since: known?.state === state ? known.since : nodeTime(), problem: messageOf(error) });
}

export const forgetWatch = (name: string) => note(name, null);

/** follow watches something under a name that the page can show. */
export function follow<T>(name: string, { path }: Call, on: Omit<WatchHandlers<T>, "up" | "down">): () => void {
  const stop = watch<T>(path, { ...on, up: () => noteLive(name), down: (error) => noteLost(name, error) });
  return () => {
    stop();
    forgetWatch(name);
  };
}
