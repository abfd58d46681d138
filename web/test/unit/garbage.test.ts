import { describe, expect, it } from "vitest";
import { fateOf, subjectOf, summaryOf } from "../../src/pure/garbage";

const now = Date.parse("2030-01-01T12:00:00Z");

describe("fateOf", () => {
  it.each([
    ["with the next round", {}, "goes now"],
    ["at its time", { goesAt: "2030-01-01T12:04:00Z" }, "goes in 4m"],
    ["overdue", { goesAt: "2030-01-01T11:00:00Z" }, "goes now"],
    ["for good", { kept: "the runtime has pinned it" }, "stays: the runtime has pinned it"],
    ["for a while", { kept: "it is young", goesAt: "2030-01-01T12:00:20Z" }, "goes in 20s; until then: it is young"],
  ])("says it of what goes or stays %s", (_, garbage, want) => expect(fateOf(garbage, now)).toBe(want));
});

describe("subjectOf", () => {
  it.each([
    [{ kind: "container", namespace: "a", pod: "web", container: "main", name: "0123456789abcdef" }, "a/web main 0123456789ab"],
    [{ kind: "image", name: "registry/app:1" }, "registry/app:1"],
    [{ kind: "logs", namespace: "a", pod: "web", name: "/var/log/pods/a_web_1" }, "a/web"],
    [{ kind: "cgroup", name: "/kubepods/pod1" }, "pod1"],
  ])("names %j", (garbage, want) => expect(subjectOf(garbage)).toBe(want));
});

describe("summaryOf", () => {
  it("counts what goes and what stays", () => {
    expect(summaryOf([])).toBe("nothing");
    expect(summaryOf([{}, { kept: "a" }, { kept: "b" }])).toBe("1 to go, 2 kept for now");
    expect(summaryOf([{ bytes: "1024" }, { bytes: "1024", kept: "b" }])).toBe("1 to go, 1 kept for now; 2.0 KiB");
  });
});
