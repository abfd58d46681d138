// Images on their way to the node.
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

/** usePulls keeps them up to date while somebody looks. They have no watch: an event says that some may have begun, and they are asked for until there are none. */
export function usePulls(): readonly Pull[] {
  useSignalEffect(() => {
    newest.value; // a dependency
    if (!session.value?.live) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;
    const ask = async () => {
      pulls.value = await perform<ListPullsResponse>(listPulls()).then((answer) => answer.pulls ?? [], () => []);
      if (pulls.value.length > 0 && !over) timer = setTimeout(() => void ask(), pause);
    };
    void ask();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  });
  return pulls.value;
}
