import { describe, expect, it } from "vitest";
import type { AuditEntry, Event } from "../../src/api/gen";
import { clocks, endsOf, happeningsOf, reachOf, runsOf, within } from "../../src/pure/record";

const time = (s: number) => new Date(s * 1000).toISOString();
let revision = 0;
const event = (at: number, reason: string, of: Partial<Event> = {}): Event => ({ time: time(at), reason, uid: "u", container: "main", revision: String(++revision), ...of });
const exited = (at: number, text: string, of: Partial<Event> = {}) => event(at, "Exited", { message: `container main, attempt ${text}`, type: "EVENT_TYPE_WARNING", ...of });

describe("the runs of a container", () => {
  it("end with their code and message, and the one of the present pod goes on", () => {
    const runs = runsOf([event(10, "Started"), exited(20, "0, ended with exit code 3: out of ideas\n"), event(25, "Started")], "u", 60_000);
    expect(runs).toEqual([
      { uid: "u", container: "main", from: 10_000, to: 20_000, end: { attempt: 0, code: 3, message: "out of ideas" } },
      { uid: "u", container: "main", from: 25_000, to: 60_000, end: undefined },
    ]);
  });
  it("of a pod that is gone do not go on", () => {
    expect(runsOf([event(10, "Started")], "other", 60_000)[0]).toMatchObject({ from: 10_000, to: 10_000 });
  });
  it("end when they ended, not when an agent that came later found out", () => {
    expect(runsOf([event(10, "Started"), exited(500, "0, ended with exit code 0", { took: "5s" })], "u", 0)[0]).toMatchObject({ to: 15_000 });
  });
  it("are known by their end alone, where the events begin", () => {
    expect(runsOf([exited(100, "2, ended with exit code 137: OOMKilled", { took: "40s" })], "u", 0)[0]).toMatchObject({ from: 60_000, to: 100_000, end: { attempt: 2, code: 137, message: "OOMKilled" } });
  });
  it("of two containers and two pods of the name are apart", () => {
    const runs = runsOf([event(1, "Started"), event(2, "Started", { container: "side" }), exited(3, "0, ended with exit code 1"), event(4, "Started", { uid: "v" })], "v", 9000);
    expect(runs.map((r) => [r.uid, r.container, r.to])).toEqual([["u", "main", 3000], ["u", "side", 2000], ["v", "main", 9000]]);
    expect(endsOf(runs, "side")).toEqual([]);
  });
  it("are listed with the latest end first", () => {
    const runs = runsOf([event(1, "Started"), exited(2, "0, ended with exit code 1"), event(3, "Started"), exited(4, "1, ended with exit code 1")], "u", 0);
    expect(endsOf(runs).map((r) => r.to)).toEqual([4000, 2000]);
  });
});

describe("what else happened", () => {
  const entry = (verb: string, of: Partial<AuditEntry> = {}): AuditEntry => ({ time: time(5), id: verb, verb, stage: "AUDIT_STAGE_DONE", outcome: "OK", user: "alice", method: `/node.v1.PodsService/${verb}`, ...of });
  it("is in the order of its times, with changes among the events", () => {
    const all = happeningsOf([event(9, "Killing"), event(1, "Unhealthy", { type: "EVENT_TYPE_WARNING", count: 3 }), event(2, "Started")], [entry("write")]);
    expect(all.map((h) => [h.kind, h.label, h.bad, h.count])).toEqual([["probe", "Unhealthy", true, 3], ["change", "alice write", false, 1], ["event", "Killing", false, 1]]);
  });
  it("leaves out who only read", () => {
    expect(happeningsOf([], [entry("read"), entry("secrets"), entry("exec")]).map((h) => h.label)).toEqual(["alice exec"]);
  });
  it("leaves out plans, which change nothing", () => {
    expect(happeningsOf([], [entry("write", { method: "/node.v1.ManifestsService/Plan" })])).toEqual([]);
  });
  it("shows a change that was refused as bad", () => {
    expect(happeningsOf([], [entry("write", { decision: "denied", outcome: "PERMISSION_DENIED" })])[0]).toMatchObject({ bad: true });
  });
  it("can be cut to a time", () => {
    expect(within([{ at: 1 }, { at: 5 }, { at: 9 }], { from: 2, to: 8 })).toEqual([{ at: 5 }]);
  });
});

it("the record of a young pod begins with its last minutes, and that of an older one with an hour", () => {
  const young = [event(100, "Accepted"), event(5, "Accepted", { uid: "earlier" })];
  expect([reachOf(null, young, "u", 200_000).id, reachOf(null, young, "u", 900_000).id, reachOf("week", young, "u", 0).id, reachOf("x", [], "u", 0).id]).toEqual(["minutes", "hour", "week", "hour"]);
});

it("the axis has round times, few enough to be read", () => {
  for (const hours of [1 / 6, 1, 24, 168]) {
    const span = { from: Date.parse("2026-05-01T10:07:11Z"), to: Date.parse("2026-05-01T10:07:11Z") + hours * 3_600_000 };
    const found = clocks(span, 7);
    expect(found.length).toBeGreaterThan(2);
    expect(found.length).toBeLessThan(9);
    for (const at of found) expect(at).toBeGreaterThanOrEqual(span.from);
    expect(new Set(found.map((at) => new Date(at).getSeconds()))).toEqual(new Set([0]));
  }
});
