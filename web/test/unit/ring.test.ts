import { describe, expect, it } from "vitest";
import { Finder } from "../../src/pure/find_lines";
import { LineParser, Ring, split } from "../../src/pure/ring";

describe("Ring", () => {
  it("keeps the last lines, and their numbers", () => {
    const ring = new Ring({ lines: 3, chars: 1000, line: 100 });
    for (let i = 0; i < 10_000; i++) ring.push("", 0, `line ${i}`);
    expect([...ring.since(0)].map((l) => l.text)).toEqual(["line 9997", "line 9998", "line 9999"]);
    expect([...ring.since(9999)].map((l) => l.text)).toEqual(["line 9999"]);
    expect(ring.at(0)?.id).toBe(9997);
    expect(ring.dropped).toBe(9997);
  });
  it("finds the line of a time, or the next one", () => {
    const ring = new Ring();
    for (const t of ["01", "02", "02.5", "04"]) ring.push(`2026-01-01T00:00:${t}Z`, 0, t);
    expect(ring.indexFrom("2026-01-01T00:00:02.5Z")).toBe(2);
    expect(ring.indexFrom("2026-01-01T00:00:03Z")).toBe(3);
    expect(ring.indexFrom("2026-01-01T00:00:05Z")).toBe(-1);
    expect([ring.indexOf("2026-01-01T00:00:04Z"), ring.indexOf("2026-01-01T00:00:03Z")]).toEqual([3, -1]);
  });
  it("is bounded in size as well", () => {
    const ring = new Ring({ lines: 1000, chars: 50, line: 20 });
    for (let i = 0; i < 100; i++) ring.push("", 0, "x".repeat(15));
    expect(ring.length).toBe(3);
  });
  it("cuts a line without an end, and says by how much", () => {
    const ring = new Ring({ lines: 10, chars: 1000, line: 20 });
    ring.push("", 0, "x".repeat(1_000_000));
    expect(ring.at(0)).toMatchObject({ text: "x".repeat(20), cut: 999_980 });
  });
});

describe("LineParser", () => {
  it("makes lines of pieces cut anywhere", () => {
    const parser = new LineParser();
    expect([...parser.push("on"), ...parser.push("e\ntwo\nth"), ...parser.push("ree"), ...parser.end()]).toEqual(["one", "two", "three"]);
    expect(parser.end()).toEqual([]);
  });
  it("does not wait for ever for the end of a line", () => {
    const parser = new LineParser(10);
    expect(parser.push("x".repeat(25))).toEqual(["x".repeat(25)]);
  });
});

describe("split", () => {
  it("splits off the time", () =>
    expect(split("2026-11-21T10:42:29.062582670Z hello world")).toEqual({ time: "2026-11-21T10:42:29.062582670Z", text: "hello world" }));
  it("keeps a line without a time", () => expect(split("hello")).toEqual({ time: "", text: "hello" }));
});

describe("Finder", () => {
  it("finds words and levels, and reads each line once", () => {
    const ring = new Ring({ lines: 3, chars: 1000, line: 100 });
    ring.push("", 0, "\x1b[31mERROR\x1b[0m no route");
    ring.push("", 0, "level=warn slow route");
    ring.push("", 0, "route found");
    const all = new Finder(ring, { words: "ROUTE", level: "", around: 0 });
    const bad = new Finder(ring, { words: "", level: "warn", around: 0 });
    const worst = new Finder(ring, { words: "", level: "error", around: 0 });
    expect([all.look().length, bad.look().length, worst.look().length]).toEqual([3, 2, 1]);
    ring.push("", 0, "ERROR again, no route");
    expect(all.look().map((l) => l.id)).toEqual([1, 2, 3]);
    expect(worst.look().map((l) => l.id)).toEqual([3]);
    expect([all.gone, worst.gone]).toEqual([1, 1]);
  });

  it("shows lines around matches once each, as long as the ring has them", () => {
    const ring = new Ring({ lines: 8, chars: 1000, line: 100 });
    const say = (...texts: string[]) => texts.forEach((text) => ring.push("", 0, text));
    const found = new Finder(ring, { words: "hit", level: "", around: 2 });
    say("0", "1", "2", "hit 3", "4", "hit 5", "6");
    expect(found.look().map((l) => l.id)).toEqual([1, 2, 3, 4, 5, 6]);
    say("7", "8");
    expect(found.look().map((l) => l.id)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect([found.matched, found.beside.has(4), found.beside.has(5)]).toEqual([2, true, false]);
    say("9", "10", "11", "hit 12");
    expect(found.look().map((l) => l.id)).toEqual([5, 6, 7, 10, 11, 12]);
    expect([found.matched, found.gone]).toEqual([2, 4]);
  });
});
