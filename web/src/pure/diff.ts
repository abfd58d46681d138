// A changed field, before and after.
import { at, fieldPath } from "./manifest";

export interface Sides {
  old?: unknown;
  new?: unknown;
}

/** hidden replaces the content of a Secret. */
const hidden = "***";

/** sidesOf returns a field before and after. It never shows the content of a Secret. */
export function sidesOf(kind: string, field: string, there: unknown, wanted: unknown): Sides {
  const path = fieldPath(field);
  const next = valueAt(wanted, path);
  if (kind === "Secret" && path[0] === "data") return next === undefined ? { old: hidden } : { new: hidden };
  return { old: valueAt(there, path), new: next };
}

/** valueAt also finds a value under its other names in Kubernetes. */
function valueAt(object: unknown, path: ReadonlyArray<string | number>): unknown {
  const [first, ...rest] = path;
  const names = first === "data" ? ["data", "stringData", "binaryData"] : [first!];
  return names.map((name) => at(object, [name, ...rest])).find((value) => value !== undefined);
}
