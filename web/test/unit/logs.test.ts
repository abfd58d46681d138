import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LogReader, type LogWanted } from "../../src/state/logs";

const line = (second: number, words = `line ${second}`) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z ${words}\n`;
const wanted: LogWanted = { namespace: "default", name: "web", containers: ["main"], previous: false, hasEnded: () => false, tail: 2000, sinceSeconds: 0, at: "" };

/** Served is one answer of the node, which a test sends piece by piece. */
class Served {
  private to!: ReadableStreamDefaultController<Uint8Array>;
  readonly body = new ReadableStream<Uint8Array>({ start: (to) => void (this.to = to) });
  constructor(readonly path: string) {}

  say = (text: string) => this.to.enqueue(new TextEncoder().encode(text));
  end = () => this.to.close();
  cut = () => this.to.error(new TypeError("network error"));
}

describe("LogReader", () => {
  let asked: Served[];
  let reader: LogReader;
  const soon = (ms = 100) => vi.advanceTimersByTimeAsync(ms);
  const read = (change: Partial<LogWanted> = {}) => (reader = new LogReader({ ...wanted, ...change }));
  const texts = () => [...reader.ring.since(0)].map((l) => l.text);

  beforeEach(() => {
    asked = [];
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 16));
    vi.stubGlobal("fetch", (path: string, { signal }: RequestInit) => {
      const served = new Served(path);
      asked.push(served);
      signal?.addEventListener("abort", () => served.cut());
      return Promise.resolve(new Response(served.body));
    });
  });
  afterEach(() => {
    reader.stop();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("resumes after the last line when the connection is cut, without duplicates", async () => {
    read();
    await soon();
    asked[0]!.say(line(1) + line(2));
    await soon();
    asked[0]!.cut();
    await soon(500);
    asked[1]!.say(line(2) + line(3));
    await soon();
    expect(texts()).toEqual(["line 1", "line 2", "line 3"]);
    expect(asked[0]!.path).toContain("tailLines=2000");
    expect(asked[1]!.path).toContain("sinceTime=2026-01-01T00%3A00%3A02Z");
    expect(asked[1]!.path).not.toContain("tailLines");
    expect(reader.problems.value.size).toBe(0);
  });

  it("ends when its container ends", async () => {
    let over = false;
    read({ hasEnded: () => over });
    await soon();
    asked[0]!.say(line(1));
    asked[0]!.end();
    await soon(500);
    expect(reader.ended.value).toBe(false); // it may come again
    over = true;
    asked[1]!.end();
    await soon(60_000);
    expect(reader.ended.value).toBe(true);
    expect(asked).toHaveLength(2);
  });

  it("sorts several logs by time, however unevenly they come", async () => {
    read({ containers: ["quick", "slow"] });
    await soon();
    asked[0]!.say(line(1) + line(3) + line(5));
    await soon();
    expect(texts()).toEqual([]);
    asked[1]!.say(line(2));
    await soon();
    asked[1]!.say(line(4));
    await soon();
    expect(texts()).toEqual(["line 1", "line 2", "line 3", "line 4"]);
    await soon(1000);
    expect(texts()).toEqual(["line 1", "line 2", "line 3", "line 4", "line 5"]); // the log has no more lines
  });

  it("pauses a log that is far ahead of the others", async () => {
    read({ containers: ["quick", "slow"] });
    await soon();
    for (let i = 0; i < 4; i++) asked[0]!.say(line(7, "x").repeat(4000));
    asked[1]!.say(line(1));
    await soon(500);
    expect(reader.told.value.lines).toBe(1);
    asked[1]!.say(line(8));
    await soon(1500);
    expect(reader.told.value.lines).toBe(16_002);
  });

  it("holds a large log at its beginning, and does not read the rest", async () => {
    read({ tail: 0 });
    await soon();
    for (let i = 0; i < 20; i++) asked[0]!.say(line(i, "x").repeat(4000));
    await soon(500);
    expect(reader.held.value).toBe(true);
    expect([reader.told.value, reader.ring.at(0)?.time]).toEqual([{ lines: 40_000, dropped: 0 }, "2026-01-01T00:00:00Z"]);
    expect(asked).toHaveLength(1);
  });

  it("drops the beginning of a followed log that grows", async () => {
    read({ tail: 0 });
    await soon(1500); // the earlier lines are complete
    for (let i = 0; i < 20; i++) asked[0]!.say(line(i, "x").repeat(4000));
    await soon(500);
    expect(reader.held.value).toBe(false);
    expect(reader.told.value).toEqual({ lines: 50_000, dropped: 30_000 });
  });

  it("goes on following a large log when the connection is cut", async () => {
    read({ tail: 0 });
    await soon(1500); // the earlier lines are complete
    for (let i = 0; i < 10; i++) asked[0]!.say(line(i, "x").repeat(4000));
    await soon();
    asked[0]!.cut();
    await soon(500);
    asked[1]!.say(line(9, "x")); // a line that the page has already
    await soon();
    expect(reader.held.value).toBe(false);
    asked[1]!.say(line(10));
    await soon(1500);
    expect(reader.told.value.lines).toBe(40_001);
    expect(asked).toHaveLength(2);
  });

  it("is looking until each log is up to date", async () => {
    read({ containers: ["silent", "other"], tail: 0, sinceSeconds: 60 });
    await soon();
    asked[1]!.end();
    await soon(800);
    expect(reader.looking.value).toBe(true);
    await soon(500);
    expect(reader.looking.value).toBe(false);
    asked[2]!.end(); // it is read again, which does not count as looking
    await soon();
    expect(reader.looking.value).toBe(false);
  });

  it("is not looking in a log that it holds", async () => {
    read({ tail: 0 });
    await soon();
    for (let i = 0; i < 20; i++) asked[0]!.say(line(i, "x").repeat(4000));
    expect(reader.looking.value).toBe(true);
    await soon(500);
    expect([reader.held.value, reader.looking.value]).toEqual([true, false]);
  });

  it("makes the same calls that it shows", () => {
    read({ containers: ["main", "side"], tail: 0, at: "2026-01-01T00:00:10Z" });
    expect(reader.call("side")).toMatchObject({ path: "/v1/namespaces/default/pods/web/containers/side/logs?timestamps=true&follow=true&sinceTime=2026-01-01T00%3A00%3A05.000Z" });
    expect(reader.call("side").kubectl).toBe("kubectl logs web -n default -c side --timestamps --follow --since-time=2026-01-01T00:00:05.000Z");
  });
});
