// What was applied from this page, and what was there before: both outlive the page
// that shows them, so that one can look elsewhere and still go back.
import { signal } from "@preact/signals";
import type { Outcome, Pod } from "../api/gen";
import { keyOf } from "../pure/health";

export interface Applied {
  outcomes: readonly Outcome[];
  before: readonly Pod[];
  at: number; // milliseconds
}

export const applied = signal<Applied | null>(null);

/** undo is each pod as it was before it was changed here, by namespace and name. */
export const undo = signal<ReadonlyMap<string, Pod>>(new Map());

const changes = new Set(["RESULT_UPDATED", "RESULT_REPLACED"]);

/** changedOf is the pods of a bundle that were something else before. */
export const changedOf = ({ outcomes, before }: Applied) => before.filter((pod) => outcomes.some((o) => o.kind === "Pod" && o.name === pod.name && o.namespace === pod.namespace && changes.has(o.result ?? "")));

export function remember(next: Applied): void {
  applied.value = next;
  const changed = changedOf(next);
  if (changed.length > 0) undo.value = new Map([...undo.value, ...changed.map((pod) => [keyOf(pod), pod] as const)]);
}
