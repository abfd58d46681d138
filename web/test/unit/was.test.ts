import { describe, expect, it } from "vitest";
import { changesOf, looksOf } from "../../src/pure/was";

describe("how a pod was", () => {
  it("is looked at between two events, the latest first", () => {
    const event = (revision: string, reason: string, container = "") => ({ revision, reason, container, time: `t${revision}` });
    const events = [event("30", "Removed"), event("9", "Accepted"), { reason: "old" }, event("20", "Started", "main")];
    expect(looksOf(events)).toEqual([
      { at: "29", label: "Started main", time: "t20" },
      { at: "19", label: "Accepted", time: "t9" },
    ]);
    expect(looksOf([event("1", "Accepted")])).toEqual([]);
  });
  it("differs in the fields that have changed", () => {
    const was = { metadata: { name: "web", resourceVersion: "1" }, spec: { containers: [{ image: "a:1" }] }, status: { phase: "Pending" } };
    const is = { metadata: { name: "web", resourceVersion: "2", labels: { a: "b" } }, spec: { containers: [{ image: "a:2" }] }, status: { phase: "Pending" } };
    expect(changesOf(was, is)).toEqual([
      { path: "metadata.labels", was: undefined, is: { a: "b" } },
      { path: "spec.containers[0].image", was: "a:1", is: "a:2" },
    ]);
    expect(changesOf(was, was)).toEqual([]);
  });
});
