// A field that would change, as it is and as it would be.
import { at, fieldPath } from "./manifest";

export interface Sides {
  old?: unknown;
  new?: unknown;
}

/** hidden stands for what a Secret holds. */
const hidden = "***";

/** sidesOf compares what is there with what is wanted. Nobody reads a Secret for that. */
export function sidesOf(kind: string, field: string, there: unknown, wanted: unknown): Sides {
  const path = fieldPath(field);
  const next = valueAt(wanted, path);
  if (kind === "Secret" && path[0] === "data") return next === undefined ? { old: hidden } : { new: hidden };
  return { old: valueAt(there, path), new: next };
}

/** valueAt finds under another name what may be written under several, and counts as one. */
function valueAt(object: unknown, path: ReadonlyArray<string | number>): unknown {
  const [first, ...rest] = path;
  const names = first === "data" ? ["data", "stringData", "binaryData"] : [first!];
  return names.map((name) => at(object, [name, ...rest])).find((value) => value !== undefined);
}
