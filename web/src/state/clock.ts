// The present time by the node's clock, once a second, for all ages on the page.
import { computed, signal } from "@preact/signals";
import { nodeTime } from "../api/node_time";

export const now = signal(nodeTime());

/** slow is the present time in steps of five seconds, for what is too much to do each second. */
export const slow = computed(() => now.value - (now.value % 5000));

export function tick(): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) now.value = nodeTime();
  }, 1000);
  return () => clearInterval(timer);
}
