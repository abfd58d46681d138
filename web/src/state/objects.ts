// What pods use beside images: configuration, secrets, claims and volumes.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ClusterTrustBundle, ConfigMap, PersistentVolume, PersistentVolumeClaim, Pod, RuntimeClass, Secret } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { getObject, listObjects, type Objects } from "../pure/calls";
import { objectOf } from "../pure/health";
import { type Kind, usesOf } from "../pure/uses";
import { reachable } from "./link";
import { onLeaving } from "./session";

export type Entry = ConfigMap & Secret & PersistentVolumeClaim & PersistentVolume & RuntimeClass & ClusterTrustBundle;

interface KindInfo extends Objects {
  many: string;
  field: string; // of the list's answer
  empty: string;
}

export const kinds: readonly KindInfo[] = [
  { kind: "configmaps", one: "ConfigMap", many: "ConfigMaps", field: "configMaps", namespaced: true, empty: "Files and variables for pods, posted like pods are." },
  { kind: "secrets", one: "Secret", many: "Secrets", field: "secrets", namespaced: true, empty: "Values for pods, encrypted on the disk." },
  { kind: "persistentvolumeclaims", one: "PersistentVolumeClaim", many: "Claims", field: "persistentVolumeClaims", namespaced: true, empty: "How pods ask for storage that outlives them." },
  { kind: "persistentvolumes", one: "PersistentVolume", many: "Volumes", field: "persistentVolumes", namespaced: false, empty: "Storage that outlives pods." },
  { kind: "runtimeclasses", one: "RuntimeClass", many: "Runtime classes", field: "runtimeClasses", namespaced: false, empty: "Other ways to run pods than the usual one." },
  { kind: "clustertrustbundles", one: "ClusterTrustBundle", many: "Trust bundles", field: "clusterTrustBundles", namespaced: false, empty: "Certificates of authorities for pods to trust." },
];

export const kindOf = (kind: string) => kinds.find((k) => k.kind === kind);

export const objects = signal<ReadonlyMap<Kind, readonly Entry[]> | null>(null);
export const objectsProblem = signal("");

onLeaving(() => {
  objects.value = null;
  objectsProblem.value = "";
});

export async function readObjects(): Promise<void> {
  try {
    const lists = await Promise.all(kinds.map((k) => perform<Record<string, Entry[]>>(listObjects(k))));
    objects.value = new Map(kinds.map((k, i) => [k.kind, lists[i]![k.field] ?? []]));
    objectsProblem.value = "";
  } catch (error) {
    objectsProblem.value = messageOf(error);
  }
}

/** readObject is one, with what it holds as far as one may see it. */
export async function readObject(info: KindInfo, entry: Pick<Entry, "namespace" | "name">): Promise<Entry> {
  const field = info.field.replace(/(ss)es$|s$/, "$1");
  return (await perform<Record<string, Entry>>(getObject(info, entry)))[field] ?? {};
}

const interval = 10_000; // milliseconds

/** useReading reads at once, when the node is back, and now and then for as long as somebody looks: objects have no watch. */
export function useReading(read: () => void, again = true): void {
  useEffect(() => {
    read();
    if (!again) return;
    const look = () => {
      if (!document.hidden) read();
    };
    const timer = setInterval(look, interval);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [reachable.value]);
}

/** usersOf is the pods that name an object; a volume's are those of its claim. */
export function usersOf(pods: readonly Pod[], kind: Kind, entry: Pick<Entry, "namespace" | "name" | "claim" | "signerName">): Pod[] {
  if (kind === "persistentvolumes") {
    const [namespace, name] = (entry.claim ?? "").split("/");
    return name ? usersOf(pods, "persistentvolumeclaims", { namespace: namespace!, name }) : [];
  }
  const near = (pod: Pod) => !kindOf(kind)!.namespaced || pod.namespace === entry.namespace;
  const named = [entry.name, entry.signerName].filter(Boolean);
  return pods.filter((pod) => near(pod) && usesOf(objectOf(pod)).some((use) => use.kind === kind && named.includes(use.name)));
}
