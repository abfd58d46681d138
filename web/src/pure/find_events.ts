// A filter of events, kept in the address.
import type { Event } from "../api/gen";

export interface EventWish {
  kind: "" | "warning" | "normal";
  reason: string;
  text: string;
}

export function eventWishOf(query: URLSearchParams): EventWish {
  const kind = query.get("kind") ?? "";
  return { kind: kind === "warning" || kind === "normal" ? kind : "", reason: query.get("reason") ?? "", text: query.get("q") ?? "" };
}

const types = { warning: "EVENT_TYPE_WARNING", normal: "EVENT_TYPE_NORMAL" };

/** findEvents returns the events of a kind and a reason that have every word in a name, a container, the reason or the message. */
export function findEvents(events: readonly Event[], { kind, reason, text }: EventWish): Event[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return events.filter((e) => {
    if ((kind && e.type !== types[kind]) || (reason && e.reason !== reason)) return false;
    const all = `${e.namespace}/${e.name} ${e.container ?? ""} ${e.reason} ${e.message}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** reasonsOf counts the reasons, in alphabetical order. One that is asked for is there even if it has no event. */
export function reasonsOf(events: readonly Event[], asked: string): Array<[reason: string, count: number]> {
  const counts = new Map<string, number>(asked ? [[asked, 0]] : []);
  for (const { reason = "" } of events) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}
