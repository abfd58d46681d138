import { expect, it } from "vitest";
import type { AuditEntry } from "../../src/api/gen";
import { deeds } from "../../src/pure/deeds";

const asked: AuditEntry = {
  time: "2026-05-01T12:00:00Z", id: "a-1", stage: "AUDIT_STAGE_RECEIVED", user: "alice", via: "token", from: "192.0.2.1:5000",
  method: "/node.v1.PodsService/DeletePod", decision: "allowed",
};
const ended: AuditEntry = { ...asked, time: "2026-05-01T12:00:05Z", stage: "AUDIT_STAGE_DONE", outcome: "OK", took: "0.020s" };

it("a request and its outcome are one row, at the time of the request", () => {
  expect(deeds([asked, ended])).toEqual([
    { id: "a-1", time: asked.time, who: "alice", from: "192.0.2.1, token", what: "DeletePod", state: "done", outcome: "OK, 20 ms" },
  ]);
});

it("a request without an outcome shows that", () => {
  expect(deeds([asked])).toMatchObject([{ state: "open", outcome: "no outcome yet" }]);
});

it("an outcome alone is a row, where the log begins", () => {
  expect(deeds([ended])).toMatchObject([{ time: ended.time, state: "done" }]);
});

it("the newest request comes first, whenever it ended", () => {
  const later = { ...asked, id: "a-2", time: "2026-05-01T12:00:03Z" };
  expect(deeds([asked, later, ended]).map((d) => d.id)).toEqual(["a-2", "a-1"]);
});

it.each<[string, AuditEntry, object]>([
  ["a command with its exit code", { ...ended, method: "/node.v1.ExecService/Run", container: "main", exitCode: 0 }, { what: "Run in main", state: "done", outcome: "OK, exit code 0, 20 ms" }],
  ["a session on a path of the kubelet", { ...ended, method: "GET /exec/default/web/main", container: "main", outcome: "101" }, { what: "exec in main", state: "done" }],
  ["another path of the kubelet", { ...ended, method: "PUT /debug/flags/v", outcome: "200", took: "0s" }, { what: "PUT /debug/flags/v", outcome: "200" }],
  ["a forwarded port", { ...ended, method: "/node.v1.ExecService/PortForward", ports: [80, 443] }, { what: "PortForward port 80, 443" }],
  ["a failure", { ...ended, outcome: "NotFound" }, { state: "failed", outcome: "NotFound, 20 ms" }],
  ["a failure of a path", { ...ended, outcome: "500" }, { state: "failed" }],
  ["a refusal of a stranger", { ...asked, user: "", via: "", stage: "AUDIT_STAGE_REFUSED", decision: "denied", outcome: "401" }, { who: "without a credential", state: "denied", outcome: "denied: 401" }],
  ["the socket", { ...asked, user: "uid:0", from: "socket", via: "socket" }, { from: "socket" }],
  ["a part of the agent", { ...asked, from: "", via: "process" }, { from: "process" }],
  ["an address of IPv6", { ...asked, from: "[2001:db8::1]:5000" }, { from: "[2001:db8::1], token" }],
  ["missing entries", { time: "2026-05-01T12:00:00Z", stage: "AUDIT_STAGE_LEFT_OUT", leftOut: "7", reason: "they could not be written" }, { what: "7 entries are missing", state: "gap", outcome: "they could not be written" }],
])("%s", (_, entry, want) => expect(deeds([entry])).toMatchObject([want]));
