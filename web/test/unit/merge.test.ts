import { describe, expect, it } from "vitest";
import { merge, Merger } from "../../src/pure/merge";

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

describe("merge", () => {
  it("sorts by time, and keeps a line without a time behind the one before", () => {
    const a = [
      { time: "2026-01-01T00:00:00.1Z", source: 0, text: "a1" },
      { time: "", source: 0, text: "a2" },
      { time: "2026-01-01T00:00:00.3Z", source: 0, text: "a3" },
    ];
    const b = [{ time: "2026-01-01T00:00:00.25Z", source: 1, text: "b1" }];
    expect(merge([a, b]).map((l) => l.text)).toEqual(["a1", "a2", "b1", "a3"]);
  });
});

describe("Merger", () => {
  const told = (merger: Merger) => merger.take().map((line) => line.text);
  const add = (merger: Merger, source: number, ...seconds: number[]) => seconds.forEach((s) => merger.add({ time: at(s), source, text: `${"ab"[source]}${s}` }));

  it("holds back lines that are newer than a log that is still loading", () => {
    const merger = new Merger(2);
    add(merger, 0, 1, 3, 5);
    expect(told(merger)).toEqual([]);
    add(merger, 1, 2, 4);
    expect(told(merger)).toEqual(["a1", "b2", "a3", "b4"]);
    expect(merger.waits(0)).toBe(1);
    add(merger, 1, 6, 7);
    expect(told(merger)).toEqual(["a5"]);
  });
  it("does not wait for a log that is up to date", () => {
    const merger = new Merger(2);
    add(merger, 0, 1, 5);
    merger.setCurrent(1, true);
    expect(told(merger)).toEqual(["a1", "a5"]);
    add(merger, 1, 6);
    expect(told(merger)).toEqual([]);
    merger.setCurrent(0, true);
    expect(told(merger)).toEqual(["b6"]);
  });
  it("holds back no line of a single log", () => {
    const merger = new Merger(1);
    merger.add({ time: "", source: 0, text: "no time" });
    add(merger, 0, 1);
    expect(told(merger)).toEqual(["no time", "a1"]);
  });
});
