// What the palette offers for the words that are typed into it.
import type { Pod } from "../api/gen";
import { matches } from "./find";
import { keyOf, nameOf } from "./health";

export interface Target {
  label: string;
  /** What kind of thing it is. */
  kind: string;
  path: string[];
}

const most = 12;

/** targetsFor returns the pages and pods that have every word: pages first, then pods whose names begin with the words. */
export function targetsFor(text: string, pages: readonly Target[], pods: readonly Pod[]): Target[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const some = pages.filter((page) => words.every((word) => page.label.toLowerCase().includes(word)));
  const start = words[0] ?? "";
  const begins = (pod: Pod) => Number(!(pod.name ?? "").startsWith(start));
  const found = pods.filter((pod) => matches(pod, words)).sort((a, b) => begins(a) - begins(b) || (keyOf(a) < keyOf(b) ? -1 : 1));
  return [...some, ...found.map((pod): Target => ({ label: nameOf(pod) ?? "", kind: "pod", path: ["pods", pod.namespace ?? "", pod.name ?? ""] }))].slice(0, most);
}
