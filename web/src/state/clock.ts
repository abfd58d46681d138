// The time that ages are counted to, once a second for the whole page. The
// node's clock may differ from the browser's.
import { signal } from "@preact/signals";

export const now = signal(Date.now());

export function tick(): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
  return () => clearInterval(timer);
}
