import { afterEach, expect, it, vi } from "vitest";
import { nodeTime } from "../../src/api/node_time";
import { fetchOk } from "../../src/api/request";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

it("the node's time comes from its answers, except small differences and late answers", async () => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T12:00:00Z") });
  const after = async (stamp: string, took = 0) => {
    vi.stubGlobal("fetch", async () => {
      vi.setSystemTime(Date.now() + took);
      return new Response("", { headers: { Date: stamp } });
    });
    await fetchOk("/v1/node");
    return new Date(nodeTime()).toISOString().slice(11, 19);
  };
  expect(await after("Thu, 01 Jan 2026 11:59:58 GMT")).toBe("12:00:00");
  expect(await after("Thu, 01 Jan 2026 13:00:00 GMT", 2000)).toBe("12:00:02");
  expect(await after("Thu, 01 Jan 2026 13:00:00 GMT")).toBe("13:00:00");
  expect(await after("Thu, 01 Jan 2026 13:00:02 GMT")).toBe("13:00:00");
  expect(await after("Thu, 01 Jan 2026 12:00:01 GMT")).toBe("12:00:02");
});
