// The logs of the machine, in the words of the page.
import type { NodeLog } from "../api/gen";

/** mostText bounds the text that the page keeps of a log, in characters. */
export const mostText = 400_000;

/** appended adds a part to a text, and drops whole lines from its beginning if it grows too long. */
export function appended(text: string, part: string, most = mostText): string {
  const all = text + part;
  if (all.length <= most) return all;
  const from = all.indexOf("\n", all.length - most - 1) + 1;
  return all.slice(from || all.length - most);
}

/** optionOf names a log in a list of choices. */
export function optionOf(log: NodeLog): string {
  if (log.message) return `${log.name}: cannot be read`;
  return log.place === "journal" ? (log.name ?? "") : `${log.name} (${log.place})`;
}
