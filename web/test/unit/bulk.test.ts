import { describe, expect, it } from "vitest";
import type { Pod } from "../../src/api/gen";
import { fateOf, fateWords, selectedOf, toggled } from "../../src/pure/bulk";

const pod = (name: string, more: Partial<Pod> = {}): Pod => ({ namespace: "default", name, uid: `u-${name}`, source: "api", ...more });

describe("what goes with a pod", () => {
  const volumes = [{ name: "scratch", emptyDir: {} }, { name: "data", persistentVolumeClaim: { claimName: "orders" } }, { name: "settings", configMap: { name: "x" } }];
  it.each<[string, Pod, string]>([
    ["its own volumes; claims stay", pod("a", { object: { spec: { volumes } } }), "with what it wrote into scratch; orders stays"],
    ["nothing, without volumes", pod("a"), "it has no volume to lose"],
    ["a pod of a file stays", pod("a", { source: "file" }), "stays: it comes from file: remove it there"],
    ["a pod that goes is left alone", pod("a", { deletionDeadline: "2026-01-01T00:00:00Z" }), "stays: it is going already"],
  ])("%s", (_, given, want) => expect(fateWords(fateOf(given))).toBe(want));
});

describe("a selection", () => {
  const [a, b] = [pod("a"), pod("b")];
  const there = new Map([["default/a", a], ["default/b", b]]);
  it("takes pods, and leaves them when they are chosen again", () => {
    const both = toggled(toggled(new Map(), [a]), [a, b]);
    expect(selectedOf(both, there)).toEqual([a, b]);
    expect(selectedOf(toggled(both, [a]), there)).toEqual([b]);
    expect(toggled(both, [a, b]).size).toBe(0);
  });
  it("never means a successor of the same name", () => {
    const chosen = toggled(new Map(), [a]);
    expect(selectedOf(chosen, new Map([["default/a", pod("a", { uid: "later" })]]))).toEqual([]);
  });
  it("of nothing stays empty", () => expect(toggled(new Map(), []).size).toBe(0));
});
