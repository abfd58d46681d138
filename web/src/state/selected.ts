// The pods that the user has selected in the list: their UIDs by their names.
import { computed, signal } from "@preact/signals";
import { selectedOf } from "../pure/bulk";
import { pods } from "./live";
import { canWrite, onLeaving } from "./session";

export const selected = signal<ReadonlyMap<string, string>>(new Map());

onLeaving(() => (selected.value = new Map()));

/** selectedPods is empty while the user only reads. */
export const selectedPods = computed(() => (canWrite.value ? selectedOf(selected.value, pods.value) : []));
