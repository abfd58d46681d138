// The present time by the node's clock, once a second, for all ages on the page.
import { signal } from "@preact/signals";
import { nodeTime } from "../api/node_time";

export const now = signal(nodeTime());

export function tick(): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) now.value = nodeTime();
  }, 1000);
  return () => clearInterval(timer);
}
