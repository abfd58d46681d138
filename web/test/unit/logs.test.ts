import { afterEach, describe, expect, it, vi } from "vitest";
import { LogReader } from "../../src/state/logs";

const line = (second: number) => `2026-01-01T00:00:0${second}Z line ${second}\n`;

describe("LogReader", () => {
  afterEach(() => void vi.unstubAllGlobals());

  it("goes on behind the last line when the connection is cut, and tells nothing twice", async () => {
    const asked: string[] = [];
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
    vi.stubGlobal("fetch", (path: string) => {
      asked.push(path);
      const text = asked.length === 1 ? line(1) + line(2) : line(2) + line(3);
      let turn = 0;
      const body = new ReadableStream<Uint8Array>({
        async pull(to) {
          if (turn++ === 0) to.enqueue(new TextEncoder().encode(text));
          else if (asked.length === 1) to.error(new TypeError("network error"));
          else await new Promise<void>(() => {}); // it is followed
        },
      });
      return Promise.resolve(new Response(body));
    });
    const reader = new LogReader({ namespace: "default", name: "web", containers: ["main"], previous: false, over: false, tail: 2000, sinceSeconds: 0, at: "" });
    await vi.waitFor(() => expect([...reader.ring.since(0)].map((l) => l.text)).toEqual(["line 1", "line 2", "line 3"]), 5000);
    reader.stop();
    expect(asked[0]).toContain("tailLines=2000");
    expect(asked[1]).toContain("sinceTime=2026-01-01T00%3A00%3A02Z");
    expect(asked[1]).not.toContain("tailLines");
    expect(reader.problems.value.size).toBe(0);
  });
});
