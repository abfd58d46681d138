// Pulls of images.
import { computed, signal, useSignalEffect } from "@preact/signals";
import type { ListPullsResponse, Pull } from "../api/gen";
import { perform } from "../api/request";
import { listPulls } from "../pure/calls";
import { events } from "./live";
import { onLeaving, session } from "./session";

export const pulls = signal<readonly Pull[]>([]);
onLeaving(() => (pulls.value = []));

const pause = 1000; // milliseconds

const newest = computed(() => events.value.find((e) => e.reason === "Pulling")?.revision);

/** keepPulls is an effect. Pulls have no watch: an event announces them, and they are polled until there are none. */
export function keepPulls(): (() => void) | undefined {
  newest.value; // read as a dependency
  if (!session.value?.live) return undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  const ask = async () => {
    const now = await perform<ListPullsResponse>(listPulls()).then((answer) => answer.pulls ?? [], () => null);
    if (over) return; // a later request knows more
    if (now) pulls.value = now;
    if (!now || now.length > 0) timer = setTimeout(() => void ask(), pause);
  };
  void ask();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

/** usePulls polls the pulls while a page shows them. */
export function usePulls(): readonly Pull[] {
  useSignalEffect(keepPulls);
  return pulls.value;
}
