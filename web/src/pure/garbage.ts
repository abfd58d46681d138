// What has no use on the node any more, in the words of a table.
import type { Garbage } from "../api/gen";
import { age, bytes } from "./time";

/** subjectOf names a piece of garbage: the pod that it belonged to, or else the end of its path. */
export function subjectOf(g: Garbage): string {
  const pod = g.pod ? `${g.namespace}/${g.pod}` : "";
  if (g.kind === "container") return `${pod} ${g.container ?? ""} ${(g.name ?? "").slice(0, 12)}`;
  return g.kind === "image" ? (g.name ?? "") : pod || (g.name ?? "").split("/").pop()!;
}

/** fateOf says when a piece of garbage goes, and why it stays until then. */
export function fateOf(g: Garbage, now: number): string {
  const left = g.goesAt ? Date.parse(g.goesAt) - now : Number.NaN;
  const goes = Number.isNaN(left) ? "" : left > 0 ? `goes in ${age(left)}` : "goes now";
  if (!g.kept) return goes || "goes now";
  return goes ? `${goes}; until then: ${g.kept}` : `stays: ${g.kept}`;
}

/** summaryOf counts what goes, what stays, and the bytes of all of it that are known. */
export function summaryOf(list: readonly Garbage[]): string {
  if (list.length === 0) return "nothing";
  const stays = list.filter((g) => g.kept).length;
  const size = list.reduce((sum, g) => sum + Number(g.bytes ?? 0), 0);
  const parts = [`${list.length - stays} to go`, `${stays} kept for now`];
  return size > 0 ? `${parts.join(", ")}; ${bytes(size)}` : parts.join(", ");
}
