// The time that ages are counted to, by the node's clock, once a second for the whole page.
import { signal } from "@preact/signals";
import { nodeTime } from "../api/node_time";

export const now = signal(nodeTime());

export function tick(): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) now.value = nodeTime();
  }, 1000);
  return () => clearInterval(timer);
}
