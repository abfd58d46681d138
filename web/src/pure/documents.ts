// A bundle as the node sees it: documents, and the objects in them.
import { type Document, parseAllDocuments } from "yaml";

/** documents returns the documents that are not empty, as the node counts them. */
export function documents(text: string): Document.Parsed[] {
  const all = parseAllDocuments(text, { strict: false });
  return Array.isArray(all) ? all.filter((d) => d.contents !== null) : [];
}

/** faultIn returns where a document breaks off being YAML, as offsets in the text; null if it does not. */
export function faultIn({ errors }: Document.Parsed): [from: number, to: number] | null {
  return errors[0] ? [errors[0].pos[0], errors[0].pos[1]] : null;
}

export interface Manifest {
  kind?: unknown;
  metadata?: { name?: unknown; namespace?: unknown };
  items?: unknown;
}

/**
 * objectsOf returns each object of a bundle, including those in lists. In half-typed text it
 * returns what can be read.
 */
export function objectsOf(text: string): Manifest[] {
  try {
    return documents(text).flatMap((document) => inside(document.toJS()));
  } catch {
    return [];
  }
}

function inside(value: unknown): Manifest[] {
  if (typeof value !== "object" || value === null) return [];
  const object = value as Manifest;
  if (object.kind !== "List" && object.kind !== "PodList") return [object];
  const items = Array.isArray(object.items) ? (object.items as unknown[]) : [];
  // The items of a PodList may omit their kind.
  return items.flatMap(inside).map((item) => (object.kind === "PodList" ? { kind: "Pod", ...item } : item));
}

interface Named {
  kind?: string;
  namespace?: string;
  name?: string;
}

/** objectFor returns the object of a bundle with this name. */
export function objectFor(objects: readonly Manifest[], { kind, namespace, name }: Named): Manifest | undefined {
  const near = (o: Manifest) => !namespace || (o.metadata?.namespace ?? "default") === namespace;
  return objects.find((o) => o.kind === kind && o.metadata?.name === name && near(o));
}
