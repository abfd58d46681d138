/** Waiting says what is waited for, once that takes long enough to be noticed. */
export function Waiting({ words = "Asking the node…" }: { words?: string }) {
  return (
    <p class="waiting" aria-busy="true">
      {words}
    </p>
  );
}
