// How many characters fit into a row of a log.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

const characters = 100;

/** Ruler measures an unseen row with the parts of the others. It tells 0 while lines do not wrap. */
export function Ruler({ named, wraps, width, onColumns }: { named: boolean; wraps: boolean; width: number; onColumns: (columns: number) => void }) {
  const text = useRef<HTMLSpanElement>(null);
  const told = useSignal(0);
  useLayoutEffect(() => {
    const { offsetWidth = 0, offsetLeft = 0 } = text.current ?? {};
    const columns = wraps && offsetWidth > 0 ? Math.max(10, Math.floor((width - offsetLeft - 14) / (offsetWidth / characters))) : 0;
    if (told.peek() !== columns) onColumns((told.value = columns));
  }, [wraps, width, named]);
  return (
    <div class="log-ruler" aria-hidden="true">
      <time>00:00:00</time>
      {named && <span class="log-source">x</span>}
      <span ref={text}>{"0".repeat(characters)}</span>
    </div>
  );
}
