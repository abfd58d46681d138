import { describe, expect, it } from "vitest";
import { draw } from "../../src/pure/line";
import { holeOf, marksOf, pointsOf, reaches } from "../../src/pure/past";

const time = (n: number) => new Date(n * 1000).toISOString();

describe("what was recorded", () => {
  it("has points where a figure is known", () => {
    const points = [{ time: time(1), workingSetBytes: "4096" }, { time: time(16), cores: 0.5, workingSetBytes: "8192" }];
    expect(pointsOf(points, "cores")).toEqual([{ at: 16_000, value: 0.5 }]);
    expect(pointsOf(points, "workingSetBytes").map((p) => p.value)).toEqual([4096, 8192]);
  });
  it("marks when memory ran out, in the time that is shown", () => {
    const events = [
      { time: time(5), reason: "OOMKilled", message: "process tail" },
      { time: time(6), reason: "Started" },
      { time: time(50), reason: "Evicted", message: "memory" },
      { reason: "OOMKilled" },
    ];
    expect(marksOf(events, { from: 0, to: 10_000 })).toEqual([{ at: 5000, label: "OOMKilled: process tail" }]);
  });
  it("joins points that are a step apart, and leaves a hole where nothing was recorded", () => {
    for (const reach of reaches) {
      const points = [0, 1, 2, 30, 31].map((n) => ({ at: n * reach.step * 1000, value: 1 }));
      const { line } = draw(points, { from: 0, to: 31 * reach.step * 1000 }, 1, holeOf(reach));
      expect(line.match(/M/g)).toHaveLength(2);
    }
  });
});
