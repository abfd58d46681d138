// The events of the pods of a name: more than the page keeps of the whole node.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Event, ListEventsResponse } from "../api/gen";
import { perform } from "../api/request";
import { type Named, watchEventsOf } from "../pure/calls";
import { reachable } from "./link";
import { events } from "./live";

export function useEventsOf(pod: Named): readonly Event[] {
  const own = useSignal<readonly Event[] | null>(null);
  const known = events.value.filter((e) => e.namespace === pod.namespace && e.name === pod.name);
  const newest = known[0]?.revision ?? "";
  useEffect(() => {
    let current = true;
    perform<ListEventsResponse>(watchEventsOf(pod).once!).then(
      (answer) => current && (own.value = answer.events ?? []),
      () => {}, // then those of the page have to do
    );
    return () => {
      current = false;
    };
  }, [pod.namespace, pod.name, newest, reachable.value]);
  return own.value ?? known;
}
