// Completions in a manifest, by the schemas of the API's own description.
import type { Capability, Support } from "../api/gen";

/** Schema is the part of an OpenAPI schema that manifests need. */
export interface Schema {
  $ref?: string;
  description?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  enum?: string[];
  examples?: string[];
  "x-kubernetes-group-version-kind"?: Array<{ group: string; version: string; kind: string }>;
}

export interface Known {
  schemas: Readonly<Record<string, Schema>>;
  /** How the node treats the fields of a pod. */
  capabilities: readonly Capability[];
}

export interface Offer {
  label: string;
  apply: string;
  /** What the node does with the field, if that differs from its meaning. */
  detail: string;
  info: string;
}

const supportWords: Record<Support, string> = { SUPPORT_HONOURED: "", SUPPORT_WITHOUT_EFFECT: "without effect here", SUPPORT_REFUSED: "refused here", SUPPORT_UNSPECIFIED: "" };

/** offersAt returns completions for the end of the last line. The lines that follow may hold the kind. */
export function offersAt(lines: readonly string[], following: readonly string[], known: Known): Offer[] {
  const above = lines.slice(lines.slice(0, -1).map(isMarker).lastIndexOf(true) + 1);
  const end = following.findIndex(isMarker);
  const document = [...above, ...following.slice(0, end < 0 ? undefined : end)];
  const line = above.at(-1) ?? "";
  const head = /^\s*(?:- )*/.exec(line)![0];
  const [, key, typed] = /^(?:([\w./-]+): +)?([\w./-]*)$/.exec(line.slice(head.length)) ?? [];
  if (typed === undefined) return [];
  const kind = kindIn(document);
  const path = pathAbove(above, head.length);
  if (path.length === 0 && key === "kind") return words(kindsOf(known).map((k) => k.kind));
  if (path.length === 0 && key === "apiVersion") return words(versionsOf(known, kind));
  const here = schemaAt(known, rootOf(known, kind), key ? [...path, key] : path);
  if (!here) return [];
  if (key) return words(valuesOf(here));
  const one = here.items ? resolve(known, here.items)! : here;
  const mark = (name: string) => (kind === "Pod" ? known.capabilities.find((c) => c.field === [...path, name].join(".")) : undefined);
  if (one.properties) return Object.entries(one.properties).map(([name, schema]) => fieldOffer(name, { ...resolve(known, schema)!, description: schema.description ?? "" }, mark(name)));
  return here.items && head.includes("- ") ? words(valuesOf(one)) : [];
}

const isMarker = (line: string) => /^---(\s|$)/.test(line);

const kindIn = (document: readonly string[]) => document.map((line) => /^kind: *["']?(\w+)/.exec(line)?.[1]).find(Boolean) ?? "";

const kindsOf = ({ schemas }: Known) => Object.values(schemas).flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? []);

function versionsOf(known: Known, kind: string): string[] {
  const all = kindsOf(known).map((k) => ({ kind: k.kind, version: k.group ? `${k.group}/${k.version}` : k.version }));
  const own = all.filter((k) => k.kind === kind);
  return [...new Set((own.length ? own : all).map((k) => k.version))];
}

/** rootOf returns the schema of a kind, or the fields that all kinds share. */
function rootOf({ schemas }: Known, kind: string): Schema {
  const all = Object.values(schemas);
  const found = all.find((schema) => schema["x-kubernetes-group-version-kind"]?.some((k) => k.kind === kind));
  if (found) return found;
  const { apiVersion, metadata } = all.find((schema) => schema["x-kubernetes-group-version-kind"])?.properties ?? {};
  return kind || !metadata ? {} : { properties: { apiVersion: apiVersion!, kind: { type: "string" }, metadata } };
}

function resolve({ schemas }: Known, schema: Schema | undefined): Schema | undefined {
  return schema?.$ref ? schemas[schema.$ref.split("/").at(-1)!] : schema;
}

/** schemaAt descends by keys; lists are transparent. */
function schemaAt(known: Known, root: Schema, path: readonly string[]): Schema | undefined {
  let here: Schema | undefined = root;
  for (const key of path) {
    const inside: Schema | undefined = here?.items ? resolve(known, here.items) : here;
    here = resolve(known, inside?.properties?.[key] ?? inside?.additionalProperties);
  }
  return here;
}

const valuesOf = (schema: Schema) => schema.enum ?? schema.examples ?? (schema.type === "boolean" ? ["true", "false"] : []);

const words = (all: readonly string[]): Offer[] => all.filter(Boolean).map((label) => ({ label, apply: label, detail: "", info: "" }));

function fieldOffer(name: string, schema: Schema, mark: Capability | undefined): Offer {
  const holds = schema.properties || schema.items || schema.additionalProperties;
  return { label: name, apply: holds ? `${name}:` : `${name}: `, detail: supportWords[mark?.support ?? "SUPPORT_UNSPECIFIED"], info: [schema.description, mark?.note].filter(Boolean).join(" Here: ") };
}

/** pathAbove finds the keys above the last line by the indentation of the lines before it. */
function pathAbove(lines: readonly string[], indent: number): string[] {
  const path: string[] = [];
  for (let n = lines.length - 2, limit = indent; n >= 0 && limit > 0; n--) {
    const found = /^(\s*(?:- )*)([\w./-]+):\s*$/.exec(lines[n]!);
    if (!found) continue;
    // A list may have the indentation of its key: then the position of its dash counts.
    const stands = found[1]!.length;
    const dash = /^\s*/.exec(lines[n]!)![0].length;
    if (stands < limit) {
      path.unshift(found[2]!);
      limit = dash < stands ? dash + 1 : stands;
    }
  }
  return path;
}
