// How the node follows the files of its configuration, in the words of a page.
import type { Configuration } from "../api/gen";
import { since } from "./time";

/** valueText shows the value of a setting: a text as it is, all else as JSON. */
export const valueText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? null));

/** takenText says what the running node took of its files, and when. */
export function takenText(c: Configuration, now: number): string {
  const taken = c.taken ?? [];
  if (taken.length === 0) return "nothing since the start";
  return `${taken.join(", ")}, ${since(c.takenAt, now)} ago`;
}
