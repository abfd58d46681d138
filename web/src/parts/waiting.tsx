/** Waiting says what the page waits for, after a noticeable delay. */
export function Waiting({ words = "Asking the node…" }: { words?: string }) {
  return (
    <p class="waiting" aria-busy="true">
      {words}
    </p>
  );
}
