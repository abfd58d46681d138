import { describe, expect, it } from "vitest";
import type { Happening, Run } from "../../src/pure/record";
import { causeOf, type Evidence, ticketOf } from "../../src/pure/ticket";

const at = (clock: string) => Date.parse(`2026-05-01T${clock}Z`);
const run = (code: number, message = ""): Run => ({ uid: "u", container: "main", from: at("12:00:00"), to: at("12:05:00"), end: { attempt: 1, code, message } });
const happening = (clock: string, label: string, detail: string, of: Partial<Happening> = {}): Happening => ({ id: label, at: at(clock), kind: "event", container: "main", bad: false, label, detail, count: 1, ...of });
const evidence = (of: Partial<Evidence>): Evidence => ({ run: run(1), next: undefined, happenings: [], memory: [], memoryLimit: null, ...of });

describe("why a run ended", () => {
  const killing = (detail: string, clock = "12:04:59") => [happening(clock, "Killing", detail)];
  it.each<[string, Partial<Evidence>, RegExp]>([
    ["memory had run out", { run: run(137, "OOMKilled"), memoryLimit: 48 * 2 ** 20 }, /kernel killed it: memory had run out, of which the pod may have 48\.0 MiB/],
    ["a probe had failed", { run: run(137), happenings: killing("Container main failed liveness probe, will be restarted (within 30s)") }, /^The node stopped it: its liveness probe failed\.$/],
    ["its image changed", { run: run(143), happenings: killing("Container main definition changed, will be restarted (after its preStop hook)") }, /^The node stopped it: its definition changed\.$/],
    ["a caller asked for it", { run: run(143), happenings: killing("Stopping container main within 30s: a restart was asked for") }, /^The node stopped it: a restart was asked for\.$/],
    ["an earlier run was stopped, this one was not", { run: run(143), happenings: killing("Stopping container main within 30s: deleted", "11:59:00") }, /SIGTERM/],
    ["another container was stopped", { run: run(3), happenings: [happening("12:04:59", "Killing", "Stopping container side within 1s: deleted", { container: "side" })] }, /by itself, with exit code 3/],
    ["it crashed", { run: run(139) }, /SIGSEGV/],
    ["somebody killed it", { run: run(137) }, /SIGKILL.*not by the node/],
    ["it was done", { run: run(0) }, /without an error/],
  ])("%s", (_, of, words) => {
    expect(causeOf(evidence(of))).toMatch(words);
  });
});

describe("the text for a ticket", () => {
  const about = { namespace: "default", name: "shop", image: "shop:1", node: "node edge-1", log: ["one", "two"] };
  const memory = ["11:50:00", "11:56:00", "12:00:00", "12:04:45"].map((clock, i) => ({ at: at(clock), value: (i + 1) * 2 ** 20 }));
  const all = [
    happening("11:00:00", "Accepted", "long ago"),
    happening("12:01:00", "alice Apply", "OK", { kind: "change", container: "" }),
    happening("12:04:00", "Unhealthy", "Liveness probe failed:\nno", { kind: "probe", count: 3 }),
    happening("12:05:02", "Restarting", "restart 2 of container main"),
    happening("12:09:00", "Ready", "much later"),
  ];
  const text = ticketOf(evidence({ run: run(3, "cannot reach the ledger"), next: { ...run(0), from: at("12:05:03"), end: undefined }, happenings: all, memory, memoryLimit: 8 * 2 ** 20 }), about);
  it("says what, when, why and what followed", () => {
    expect(text).toMatch(/^default\/shop, container main: ended at 2026-05-01 12:05:00Z with exit code 3, after 5m\nIt ended by itself, with exit code 3\.\nIts end said: cannot reach the ledger\nIt was started again at 2026-05-01 12:05:03Z\./);
  });
  it("has the figures before the end, at most three, under the limit", () => {
    expect(text).toContain("2.0 MiB at 11:56:00Z, 3.0 MiB at 12:00:00Z, 4.0 MiB at 12:04:45Z; at most 8.0 MiB.");
  });
  it("has what came shortly before and after, each in one line", () => {
    expect(text).toContain("  12:01:00Z change: alice Apply: OK\n  12:04:00Z Unhealthy main: Liveness probe failed: no (3×)\n");
    expect(text).toContain("In the minute after:\n  12:05:02Z Restarting main");
    expect(text).not.toMatch(/long ago|much later/);
  });
  it("ends with the log, or says that there is none", () => {
    expect(text).toMatch(/Its last lines:\n {2}one\n {2}two\n$/);
    expect(ticketOf(evidence({}), { ...about, log: null })).toContain("(there is no log of this run)");
  });
  it("says when a run was not followed by another", () => {
    expect(ticketOf(evidence({}), about)).toContain("It was not started again so far.");
  });
});
