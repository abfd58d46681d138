// Configuration, secrets, claims and volumes.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GetObjectResponse, Pod, WatchObjectsResponse } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { watch } from "../api/watch";
import { getObject, watchObjects } from "../pure/calls";
import { type Entry, entryOf } from "../pure/entry";
import { objectOf } from "../pure/health";
import { type Kind, type KindInfo, kindOf, kinds } from "../pure/kinds";
import { usesOf } from "../pure/uses";
import { reachable } from "./link";
import { onLeaving } from "./session";

export { type Entry, kindOf, kinds };

export const objects = signal<ReadonlyMap<Kind, readonly Entry[]> | null>(null);
export const objectsProblem = signal("");

onLeaving(() => {
  objects.value = null;
  objectsProblem.value = "";
});

/** keepObjects watches all kinds at once, and returns a function that stops it. */
export function keepObjects(): () => void {
  let known = new Map<string, WatchObjectsResponse["object"]>();
  let whole = false; // false during the first list
  const publish = () => {
    if (!whole) return;
    const all = [...known.values()].map((told) => told!);
    const named = (e: Entry) => `${e.namespace}/${e.name}`;
    objects.value = new Map(
      kinds.map((k) => [k.kind, all.filter((told) => told.kind === k.one).map(entryOf).sort((a, b) => named(a).localeCompare(named(b)))]),
    );
  };
  return watch<WatchObjectsResponse>(watchObjects().path, {
    begin() {
      known = new Map();
      whole = false;
    },
    message({ type, object }) {
      if (!object) return;
      const id = `${object.kind}/${object.namespace}/${object.name}`;
      if (type !== "WATCH_TYPE_DELETED") known.set(id, object);
      else if (known.get(id)?.uid === object.uid) known.delete(id);
      publish();
    },
    synced() {
      whole = true;
      publish();
    },
    up: () => (objectsProblem.value = ""),
    down: (error) => (objectsProblem.value = messageOf(error)),
  });
}

/** useObjects watches the objects while a page shows some. */
export const useObjects = () => useEffect(keepObjects, []);

/** readObject reads one object, with its data as far as the user may see it. */
export async function readObject(info: KindInfo, entry: Pick<Entry, "namespace" | "name">): Promise<Entry> {
  return entryOf((await perform<GetObjectResponse>(getObject(info, entry))).object ?? {});
}

/** useReading calls read at once, when the node is back, and whenever the revision changes. */
export function useReading(read: () => void, revision?: string): void {
  useEffect(read, [reachable.value, revision]);
}

/** usersOf returns the pods that name an object; for a volume, those that name its claim. */
export function usersOf(pods: readonly Pod[], kind: Kind, entry: Pick<Entry, "namespace" | "name" | "claim" | "signerName">): Pod[] {
  if (kind === "persistentvolumes") {
    const [namespace, name] = (entry.claim ?? "").split("/");
    return name ? usersOf(pods, "persistentvolumeclaims", { namespace: namespace!, name }) : [];
  }
  const near = (pod: Pod) => !kindOf(kind)!.namespaced || pod.namespace === entry.namespace;
  const named = [entry.name, entry.signerName].filter(Boolean);
  return pods.filter((pod) => near(pod) && usesOf(objectOf(pod)).some((use) => use.kind === kind && named.includes(use.name)));
}
