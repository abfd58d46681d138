import { describe, expect, it } from "vitest";
import { EventParser } from "../../src/pure/sse";
import { titleOf } from "../../src/pure/title";
import { age, bytes, span } from "../../src/pure/time";
import { chart, ticks, told } from "../../src/pure/timeline";
import { seen } from "../../src/parts/virtual";

describe("age", () => {
  const cases: Array<[number, string]> = [[0, "0s"], [-5, "0s"], [59, "59s"], [60, "1m"], [61, "1m\u00a01s"], [3599, "59m"], [3660, "1h\u00a01m"], [86_400, "24h"], [200_000, "2d"]];
  it.each(cases)("%d s", (s, want) => expect(age(s * 1000)).toBe(want));
});

describe("span", () => {
  const cases: Array<[number, string]> = [[0.0005, "500 µs"], [0.0063, "6.3 ms"], [0.25, "250 ms"], [3.049, "3.05 s"], [42.31, "42.3 s"], [90, "1m\u00a030s"]];
  it.each(cases)("%d", (s, want) => expect(span(s)).toBe(want));
});

it("counts bytes in binary units", () => expect([bytes(10), bytes(2048), bytes(700 << 20)]).toEqual(["10 B", "2.0 KiB", "700 MiB"]));

describe("EventParser", () => {
  it("reads events cut anywhere, and no comments", () => {
    const parser = new EventParser();
    const text = ":\n\nid: 5\nevent: ADDED\ndata: {\"a\":1}\n\n:\n\nevent: error\ndata: x\n\n";
    expect([...text].flatMap((c) => parser.push(c))).toEqual([{ event: "ADDED", data: '{"a":1}' }, { event: "error", data: "x" }]);
  });
});

describe("chart", () => {
  const steps = [
    { what: "Accepted", sinceAccepted: "0s" },
    { what: "Pulling", container: "a", sinceAccepted: "0.1s" },
    { what: "SandboxCreated", sinceAccepted: "0.2s", took: "0.1s" },
    { what: "Pulled", container: "a", sinceAccepted: "1s", took: "0.9s" },
    { what: "Started", container: "a", sinceAccepted: "1.2s", took: "0.1s" },
    { what: "Ready", sinceAccepted: "1.3s" },
    { what: "Exited", container: "a", sinceAccepted: "5s", warning: true },
    { what: "Started", container: "a", sinceAccepted: "15s", took: "0.1s" },
  ];
  it("draws the duration of each step, and the open ones", () => {
    const { lanes, ready } = chart(steps, ["a"], 20);
    expect(ready).toBe(1.3);
    expect(lanes.map((l) => l.name)).toEqual(["", "a"]);
    const bars = lanes[1]!.bars.map((b) => [b.kind, Number(b.from.toFixed(2)), b.to, b.bad, b.open]);
    expect(bars).toEqual([
      ["pull", 0.1, 1, false, false],
      ["start", 1.1, 1.2, false, false],
      ["run", 1.2, 5, true, false],
      ["hold", 5, 14.9, false, false],
      ["start", 14.9, 15, false, false],
      ["run", 15, 20, false, true],
    ]);
  });
  it("shows an image that is still being pulled", () => {
    const { lanes } = chart(steps.slice(0, 3), ["a"], 4);
    expect(lanes[1]!.bars).toMatchObject([{ kind: "pull", from: 0.1, to: 4, open: true }]);
  });
  it("keeps the times of repeated failures, and draws each try", () => {
    const tries = [0, 10, 10.01, 30].flatMap((t) => [
      { what: "Pulling", container: "a", sinceAccepted: `${t}s` },
      { what: "Failed", container: "a", sinceAccepted: `${t + 0.005}s`, warning: true, message: "not found" },
    ]);
    const { lanes } = chart(tries, ["a"], 30);
    expect(lanes[1]!.bars.map((b) => [b.kind, b.from, b.bad])).toEqual([["pull", 0, true], ["pull", 10, true], ["pull", 10.01, true], ["pull", 30, true]]);
    expect(lanes[1]!.marks.map((m) => [m.at, m.count])).toEqual([[0.005, 1], [10.005, 2], [30.005, 1]]);
  });
  it("is described in words, step by step", () => {
    expect(chart(steps, ["a"], 20).lanes.map(told)).toEqual(["sandbox 100 ms", "image 900 ms, start 100 ms, failed after 3.80 s, held back 9.90 s, start 100 ms, running for 5.00 s"]);
  });
  it("describes the first and the last of many steps", () => {
    const runs = Array.from({ length: 50 }, (_, i) => [{ what: "Started", container: "a", sinceAccepted: `${i * 10 + 1}s`, took: "0.1s" }, { what: "Exited", container: "a", sinceAccepted: `${i * 10 + 2}s` }]).flat();
    const words = told(chart(runs, ["a"], 500).lanes[1]!).split(", ");
    expect([words.length, words[0], words[4], words.at(-1)]).toEqual([9, "start 100 ms", "… 141 more …", "ran 1.00 s"]);
  });
  it("says nothing about an unknown duration", () => {
    expect(told(chart([{ what: "Created", container: "a", sinceAccepted: "1s" }], ["a"], 2).lanes[1]!)).toBe("create");
  });
  it("has round ticks", () => expect(ticks(0, 0.9, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8]));
});

describe("seen", () => {
  it("draws a window and some rows around it", () => expect(seen(3400, 340, 34, 500, 8)).toEqual({ first: 92, count: 26 }));
  it("stays within the list", () => expect(seen(99_999, 340, 34, 5, 8)).toEqual({ first: 4, count: 1 }));
  it("accepts an empty list", () => expect(seen(0, 340, 34, 0)).toEqual({ first: 0, count: 0 }));
});

describe("titleOf", () => {
  const cases: Array<[string[], string]> = [
    [[], "edge"],
    [["pods"], "Pods · edge"],
    [["pods", "default", "web", "logs"], "web · edge"],
    [["pods", "shop", "web"], "shop/web · edge"],
    [["objects"], "Objects · edge"],
    [["objects", "secrets", "shop", "login"], "shop/login · edge"],
    [["objects", "persistentvolumes", "-", "pv-1"], "pv-1 · edge"],
    [["nowhere"], "edge"],
  ];
  it.each(cases)("%j", (path, want) => expect(titleOf(path, "edge")).toBe(want));
});
