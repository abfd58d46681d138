import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/api/gen";
import { sidesOf } from "../../src/pure/diff";
import { objectFor, objectsOf } from "../../src/pure/documents";
import { idOf, newest, undoOf } from "../../src/pure/undo";

const bundle = `# a comment alone is no document
---
kind: List
items:
- kind: ConfigMap
  metadata: {name: settings}
  data: {greeting: hello}
- kind: ConfigMap
  metadata: {name: settings, namespace: shop}
  data: {greeting: good day}
---
kind: PodList
items:
- metadata: {name: web}
  spec: {restartPolicy: Never}
---
kind: PersistentVolume
metadata: {name: disk}
`;

describe("objectFor", () => {
  const objects = objectsOf(bundle);
  const cases: Array<[string, Outcome, object | undefined]> = [
    ["an item of a List", { kind: "ConfigMap", namespace: "default", name: "settings" }, { data: { greeting: "hello" } }],
    ["the one of its namespace", { kind: "ConfigMap", namespace: "shop", name: "settings" }, { data: { greeting: "good day" } }],
    ["an item of a PodList, which need not say its kind", { kind: "Pod", namespace: "default", name: "web" }, { spec: { restartPolicy: "Never" } }],
    ["what has no namespace", { kind: "PersistentVolume", name: "disk" }, { kind: "PersistentVolume" }],
  ];
  it.each(cases)("finds %s", (_, outcome, want) => expect(objectFor(objects, outcome)).toMatchObject(want!));
  it("finds nothing else", () => expect(objectFor(objects, { kind: "Secret", namespace: "default", name: "settings" })).toBeUndefined());
  it("accepts half a manifest", () => expect(objectsOf("kind: Pod\nmetadata: {name: [")).toBeInstanceOf(Array));
});

describe("sidesOf", () => {
  const there = { data: { greeting: "hello", "app.conf": "a" }, metadata: { labels: { a: "1" } } };
  const cases: Array<[string, string, string, unknown, object]> = [
    ["a key that changes", "ConfigMap", "data[greeting]", { data: { greeting: "bye" } }, { old: "hello", new: "bye" }],
    ["a key that goes", "ConfigMap", "data[app.conf]", { data: {} }, { old: "a", new: undefined }],
    ["a key that comes", "ConfigMap", "data[new]", { binaryData: { new: "AA==" } }, { old: undefined, new: "AA==" }],
    ["what a Secret holds", "Secret", "data[greeting]", { stringData: { greeting: "x" } }, { new: "***" }],
    ["what a Secret holds no longer", "Secret", "data[greeting]", {}, { old: "***" }],
    ["the labels of a Secret", "Secret", "metadata.labels", {}, { old: { a: "1" }, new: undefined }],
  ];
  it.each(cases)("shows %s", (_, kind, field, wanted, want) => expect(sidesOf(kind, field, there, wanted)).toEqual(want));
});

describe("undoOf", () => {
  const of = (kind: string, name: string, result: Outcome["result"]): Outcome => ({ kind, namespace: "default", name, result: result! });
  const settings = of("ConfigMap", "settings", "RESULT_UPDATED");
  const web = of("Pod", "web", "RESULT_REPLACED");
  const before = new Map<string, object>([
    [idOf(settings), { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", uid: "x" }, data: { a: "b" } }],
    [idOf(web), { metadata: { name: "web" }, spec: { containers: [{ name: "c", image: "i" }] } }],
  ]);
  it("restores the whole bundle in its order", () => {
    const undo = undoOf([settings, web, of("Pod", "other", "RESULT_UNCHANGED")], before);
    expect(undo.manifest).toBe(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: b\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: c\n    image: i\n",
    );
    expect(undo).toMatchObject({ back: ["ConfigMap/default/settings", "Pod/default/web"], left: [] });
  });
  it("says which objects stay", () => {
    const login = of("Secret", "login", "RESULT_UPDATED");
    const all = new Map([...before, [idOf(login), { data: { password: "c2VjcmV0" } }]]);
    const undo = undoOf([login, web, of("ConfigMap", "more", "RESULT_UPDATED"), of("Pod", "new", "RESULT_CREATED")], all);
    expect(undo.back).toEqual(["Pod/default/web"]);
    expect(undo.left).toEqual(["Secret login: a browser keeps no secrets", "ConfigMap more: its previous version is not known", "Pod new: it is new; delete it instead"]);
    expect(undo.manifest).toMatch(/^# Not rolled back: Secret login: .*\n# .*\n# .*\napiVersion: v1\nkind: Pod\n/);
    expect(JSON.stringify(undo)).not.toContain("c2VjcmV0");
  });
  it("is empty for objects that were only created", () => expect(undoOf([of("Pod", "new", "RESULT_CREATED")], before)).toEqual({ manifest: "", back: [], left: [] }));
});

describe("newest", () => {
  const undo = (length: number, ...back: string[]) => ({ manifest: "x".repeat(length), back, left: [] });
  const cases: Array<[string, ReturnType<typeof undo>[], number[]]> = [
    ["as much as may be kept, the newest first", [undo(5, "a"), undo(4, "a"), undo(2, "b")], [5, 4]],
    ["what is older than one that is too large", [undo(11, "a"), undo(5, "b"), undo(4, "c")], [5, 4]],
    ["nothing that would take back more than the last change", [undo(11, "a", "b"), undo(5, "b", "c"), undo(4, "c"), undo(3, "d")], [3]],
  ];
  it.each(cases)("keeps %s", (_, undos, want) => expect(newest(undos, 10).map((u) => u.manifest.length)).toEqual(want));
});
