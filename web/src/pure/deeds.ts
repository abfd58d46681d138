// The entries of the audit log, joined to one row for each request.
import type { AuditEntry } from "../api/gen";
import { seconds, span } from "./time";

export interface Deed {
  id: string;
  time: string; // of the request, not of its end
  who: string;
  from: string;
  what: string;
  /** open: the log holds no outcome, as the request still runs or the agent ended before it. */
  state: "done" | "failed" | "denied" | "open" | "gap";
  outcome: string;
}

/** deeds returns the requests, newest first. An outcome may come without its first entry, where the log begins. */
export function deeds(entries: readonly AuditEntry[]): Deed[] {
  const byId = new Map<string, Deed>();
  entries.forEach((e, index) => {
    const id = e.id ?? `gap ${index}`;
    byId.set(id, { ...deedOf(e), id, time: byId.get(id)?.time ?? e.time ?? "" });
  });
  return [...byId.values()].sort((a, b) => Date.parse(b.time) - Date.parse(a.time));
}

function deedOf(e: AuditEntry): Omit<Deed, "id" | "time"> {
  const row = { who: e.user || "without a credential", from: placeOf(e), what: whatOf(e) };
  switch (e.stage) {
    case "AUDIT_STAGE_LEFT_OUT":
      return { ...row, who: e.user ?? "", what: `${e.leftOut} entries are missing`, state: "gap", outcome: e.reason ?? "" };
    case "AUDIT_STAGE_RECEIVED":
      return { ...row, state: "open", outcome: "no outcome yet" };
  }
  if (e.decision === "denied") return { ...row, state: "denied", outcome: `denied: ${e.outcome}` };
  const fine = e.outcome === "OK" || /^[123]\d\d$/.test(e.outcome ?? "");
  const exit = e.exitCode === undefined ? "" : `, exit code ${e.exitCode}`;
  const took = seconds(e.took) === 0 ? "" : `, ${span(seconds(e.took))}`; // less than a millisecond is not known
  return { ...row, state: fine ? "done" : "failed", outcome: `${e.outcome}${exit}${took}` };
}

/** placeOf leaves the port out: it changes with each connection. */
function placeOf({ from = "", via = "" }: AuditEntry): string {
  const host = from.replace(/:\d+$/, "");
  return !host || host === via ? via : `${host}, ${via}`;
}

/** whatOf shortens /node.v1.PodsService/DeletePod to DeletePod, and GET /exec/default/web/main to exec. */
function whatOf({ method = "", container, ports = [] }: AuditEntry): string {
  const session = /^[A-Z]+ \/(exec|attach|portForward|run)\//.exec(method);
  const name = method.startsWith("/node.v1.") ? method.slice(method.lastIndexOf("/") + 1) : (session?.[1] ?? method);
  return [name, container && `in ${container}`, ports.length > 0 && `port ${ports.join(", ")}`].filter(Boolean).join(" ");
}
