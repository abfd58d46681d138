// What the node runs short of, in the words of the dashboard.
import type { GetPressureResponse, PressureSignal, PressureThreshold } from "../api/gen";
import type { Health } from "./health";
import { percent, quantity } from "./quantity";
import { bytes, since } from "./time";

const names: Record<string, string> = {
  "memory.available": "Memory", "allocatableMemory.available": "Memory of all pods",
  "nodefs.available": "Disk", "nodefs.inodesFree": "Inodes", "imagefs.available": "Disk of images", "imagefs.inodesFree": "Inodes of images",
  "pid.available": "Processes",
};

export interface PressureLine {
  name: string;
  signal: string;
  left: string;
  least: string;
  state: string;
  health: Health;
}

/** linesOf returns a line for each threshold. The disk of containers is left out: it is one of the others. */
export function linesOf(told: GetPressureResponse, now: number): PressureLine[] {
  return (told.signals ?? []).flatMap((s) => {
    const name = names[s.name ?? ""];
    return name ? (s.thresholds ?? []).map((t) => lineOf(name, s, t, now)) : [];
  });
}

function lineOf(name: string, s: PressureSignal, t: PressureThreshold, now: number): PressureLine {
  const has = quantity(s.available), whole = quantity(s.capacity);
  const left = has === null ? "not known" : `${amount(s, s.available)}${whole ? `, ${percent(has, whole)}` : ""}`;
  return { name, signal: s.name!, left, least: amount(s, t.least), ...stateOf(s, t, now) };
}

function stateOf(s: PressureSignal, t: PressureThreshold, now: number): { state: string; health: Health } {
  if (s.message) return { state: s.message, health: "starting" };
  if (!t.crossedAt) return { state: "", health: "ready" };
  const below = `below since ${since(t.crossedAt, now)}`;
  return t.due ? { state: `${below}: pods are evicted`, health: "failing" } : { state: `${below}; pods go after ${t.grace}`, health: "starting" };
}

/** amount writes bytes as people read them, and counts as they are. */
function amount(s: PressureSignal, text: string | undefined): string {
  const n = quantity(text);
  if (n === null) return text ?? "";
  return s.name === "pid.available" || s.name?.endsWith("inodesFree") ? String(n) : bytes(n);
}

/** signalName names the resource that pods are ranked for. */
export const signalName = (signal: string | undefined) => (names[signal ?? ""] ?? signal ?? "").toLowerCase();
