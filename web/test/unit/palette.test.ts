import { describe, expect, it } from "vitest";
import { type Target, targetsFor } from "../../src/pure/palette";

const pages: Target[] = [{ label: "Pods", kind: "page", path: ["pods"] }, { label: "Events", kind: "page", path: ["events"] }];
const pods = ["shop", "a-pod", "podder"].map((name) => ({ namespace: "default", name, uid: name }));
const labels = (text: string) => targetsFor(text, pages, pods).map((t) => t.label);

describe("the palette", () => {
  it("offers pages before pods, and of pods those whose names begin with the words", () => expect(labels("pod")).toEqual(["Pods", "podder", "a-pod"]));
  it("offers everything at first", () => expect(labels("")).toEqual(["Pods", "Events", "a-pod", "podder", "shop"]));
  it("leads to the page of a pod", () => expect(targetsFor("shop", pages, pods)[0]?.path).toEqual(["pods", "default", "shop"]));
  it("offers a dozen at most", () => expect(targetsFor("", pages, Array.from({ length: 99 }, (_, i) => ({ namespace: "default", name: `p${i}` })))).toHaveLength(12));
});
