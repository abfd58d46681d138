// What the node runs short of, read again and again while a page shows it.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GetPressureResponse } from "../api/gen";
import { perform } from "../api/request";
import { getPressure } from "../pure/calls";
import { onLeaving } from "./session";

const interval = 10_000; // milliseconds, as the node measures itself at rest

const pressure = signal<GetPressureResponse | null>(null);

onLeaving(() => (pressure.value = null));

/** usePressure reads while the page is visible. conditions change when a shortage begins or ends. */
export function usePressure(conditions: string): GetPressureResponse | null {
  useEffect(() => {
    const read = () => {
      if (document.hidden) return;
      // The read-only port does not have it.
      perform<GetPressureResponse>(getPressure()).then((told) => (pressure.value = told), () => (pressure.value = null));
    };
    read();
    const timer = setInterval(read, interval);
    document.addEventListener("visibilitychange", read);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", read);
    };
  }, [conditions]);
  return pressure.value;
}
