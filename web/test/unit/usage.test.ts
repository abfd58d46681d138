import { describe, expect, it } from "vitest";
import { draw, nearest, spanOf, topOf } from "../../src/pure/line";
import { cores, quantity } from "../../src/pure/quantity";
import { requested } from "../../src/pure/requests";
import { emptyNode, emptyTrack, extend, extendNode, push, rate, recalled } from "../../src/pure/usage";

const second = (n: number) => new Date(Date.parse("2026-01-01T00:00:00Z") + n * 1000).toISOString();
const at = (n: number) => Date.parse(second(n));

describe("extend", () => {
  it("computes CPU usage from the counter if there is no rate", () => {
    const track = [
      { time: second(0), cpuTime: "10s", workingSetBytes: "5" },
      { time: second(5), cpuTime: "12.5s", workingSetBytes: "6" },
      { time: second(10), cpuTime: "13s", cores: 0.25, workingSetBytes: "7" },
    ].reduce(extend, emptyTrack);
    expect(track.cores).toEqual([{ at: at(5), value: 0.5 }, { at: at(10), value: 0.25 }]);
    expect(track.memory.map((p) => p.value)).toEqual([5, 6, 7]);
  });
  it("has no rate after a restart, and ignores known figures", () => {
    const one = extend(emptyTrack, { time: second(0), cpuTime: "10s", memoryBytes: "5" });
    const two = extend(one, { time: second(5), cpuTime: "1s", memoryBytes: "5" });
    expect(two.cores).toEqual([]);
    expect(extend(two, { time: second(5), cpuTime: "1s" })).toBe(two);
    expect(extend(two, undefined)).toBe(two);
  });
  it("goes on at once when the node's clock is set back, without later points", () => {
    const track = [
      { time: second(100), cpuTime: "10s", workingSetBytes: "5" },
      { time: second(105), cpuTime: "11s", workingSetBytes: "6" },
      { time: second(102), cpuTime: "12s", workingSetBytes: "7" },
      { time: second(107), cpuTime: "13s", workingSetBytes: "8" },
    ].reduce(extend, emptyTrack);
    expect(track.memory.map((p) => p.at)).toEqual([100, 102, 107].map(at));
    expect(track.cores).toEqual([{ at: at(107), value: 0.2 }]);
  });
  it("drops points older than a quarter of an hour", () => {
    let points = push([], { at: at(0), value: 1 });
    points = push(points, { at: at(1000), value: 2 });
    expect(points.map((p) => p.value)).toEqual([2]);
  });
  it("has no rate over a time without figures", () => {
    expect(rate({ at: at(0), value: 0 }, { at: at(100), value: 5 })).toBeNull();
  });
});

describe("extendNode", () => {
  it("computes traffic from counters, and keeps the kernel's pressure figures", () => {
    const stats = (t: number, bytes: number) => ({ node: { usage: { time: second(t) }, traffic: { receivedBytes: String(bytes), sentBytes: "0" }, pressure: { io: t } } });
    const track = [stats(0, 0), stats(10, 5000)].reduce(extendNode, emptyNode);
    expect(track.received).toEqual([{ at: at(10), value: 500 }]);
    expect(track.waits.io.map((p) => p.value)).toEqual([0, 10]);
    expect(track.waits.cpu).toEqual([]);
  });
  it("goes on at once when the node's clock is set back, without later points", () => {
    const stats = (t: number, bytes: number) => ({ node: { usage: { time: second(t) }, traffic: { receivedBytes: String(bytes) }, pressure: { io: t } } });
    const before = [stats(100, 0), stats(105, 500), stats(105, 500)].reduce(extendNode, emptyNode);
    expect([before.received.map((p) => p.at), before.waits.io.map((p) => p.at)]).toEqual([[at(105)], [at(100), at(105)]]);
    const after = extendNode(before, stats(20, 1000));
    expect([after.received, after.waits.io.map((p) => p.at)]).toEqual([[], [at(20)]]);
    expect(extendNode(after, stats(25, 1500)).received).toEqual([{ at: at(25), value: 100 }]);
  });
});

describe("a line", () => {
  const points = [0, 10, 100, 110].map((t) => ({ at: at(t), value: t }));
  it("is broken over a time without figures", () => {
    expect(draw(points, { from: at(0), to: at(120) }, 110).line.match(/M/g)).toHaveLength(2);
  });
  it("shows a single point, and fills nothing below it", () => {
    const { line, area } = draw(points.slice(0, 1), { from: at(0), to: at(60) }, 1);
    expect([line, area]).toEqual(["M0 100H0", ""]);
  });
  it("spans no more than its points", () => {
    expect(spanOf(points)).toEqual({ from: at(110 - 120), to: at(110) });
    expect(spanOf([]).to).toBe(0);
  });
  it("is scaled to its limit, else to a round number", () => {
    expect(topOf([{ at: 0, value: 30 }], 100, 1)).toBe(100);
    expect(topOf([{ at: 0, value: 11 }], 100, 1)).toBe(100);
    expect(topOf([{ at: 0, value: 120 }], 100, 1)).toBe(120);
    expect(topOf([{ at: 0, value: 12 }], null, 1)).toBe(15);
    expect(topOf([], null, 2)).toBe(3);
  });
  it("returns the point under a pointer", () => {
    expect(nearest(points, at(96))?.value).toBe(100);
    expect(nearest([], 0)).toBeNull();
  });
});

describe("quantity", () => {
  it.each([["250m", 0.25], ["2", 2], ["1.5Gi", 1.5 * 2 ** 30], ["64Mi", 64 * 2 ** 20], ["1k", 1000], ["1e3", 1000], ["24555k", 24_555_000], ["much", null], [undefined, null], ["", null]])("%s", (text, want) => {
    expect(quantity(text)).toBe(want);
  });
  it("has Kubernetes' form", () => {
    expect([0, 0.0054, 0.25, 2].map(cores)).toEqual(["0m", "5.4m", "250m", "2.00 cores"]);
  });
});

describe("recalled", () => {
  const track = extendNode(emptyNode, { node: { usage: { time: second(0), workingSetBytes: "5" } } });
  const text = JSON.stringify(track);
  it("continues a recent track", () => expect(recalled(text, at(60))).toEqual(track));
  it("starts again after a quarter of an hour", () => expect(recalled(text, at(1000))).toBe(emptyNode));
  it.each(["{", "null", "{}", '{"use":{}}', text.slice(0, 20)])("starts again if it reads %s", (torn) => expect(recalled(torn, at(60))).toBe(emptyNode));
  it("starts again if nothing was saved", () => expect(recalled(null, at(0))).toBe(emptyNode));
});

describe("requested", () => {
  const asks = (cpu: string, more = {}) => ({ name: cpu, resources: { requests: { cpu } }, ...more });
  const pod = (spec: object, phase: "POD_PHASE_RUNNING" | "POD_PHASE_FAILED" = "POD_PHASE_RUNNING") => ({ phase, object: { spec } });
  const cases: Array<[string, ReturnType<typeof pod>, number]> = [
    ["is the sum of containers", pod({ containers: [asks("250m"), asks("1"), { name: "c" }] }), 1.25],
    ["is what comes first if that is more", pod({ initContainers: [asks("2"), asks("1")], containers: [asks("500m")] }), 2],
    ["counts sidecars from their start on", pod({ initContainers: [asks("250m", { restartPolicy: "Always" }), asks("1")], containers: [asks("500m")] }), 1.25],
    ["is what the pod itself says, and what it costs besides", pod({ resources: { requests: { cpu: "2" } }, overhead: { cpu: "250m" }, containers: [asks("3")] }), 2.25],
    ["is nothing for a pod that has ended", pod({ containers: [asks("1")] }, "POD_PHASE_FAILED"), 0],
  ];
  it.each(cases)("%s", (_, given, want) => expect(requested([given], "cpu")).toBe(want));
});
