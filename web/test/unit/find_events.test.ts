import { describe, expect, it } from "vitest";
import type { Event } from "../../src/api/gen";
import { eventWishOf, findEvents, reasonsOf } from "../../src/pure/find_events";

const events: Event[] = [
  { namespace: "default", name: "web", container: "main", reason: "BackOff", message: "Back-off restarting", type: "EVENT_TYPE_WARNING" },
  { namespace: "default", name: "web", reason: "Started", message: "Container started", type: "EVENT_TYPE_NORMAL" },
  { namespace: "prod", name: "db", reason: "BackOff", message: "Back-off pulling image", type: "EVENT_TYPE_WARNING" },
];
const found = (query: string) => findEvents(events, eventWishOf(new URLSearchParams(query))).map((e) => events.indexOf(e));

describe("events", () => {
  it.each<[string, number[]]>([
    ["", [0, 1, 2]],
    ["kind=warning", [0, 2]],
    ["kind=normal", [1]],
    ["kind=nonsense", [0, 1, 2]],
    ["reason=BackOff&q=prod/", [2]],
    ["q=MAIN back", [0]],
    ["q=started&kind=warning", []],
  ])("are found by %s", (query, want) => expect(found(query)).toEqual(want));
  it("have their reasons counted, with the one that is asked for", () => {
    expect(reasonsOf(events, "Killing")).toEqual([["BackOff", 2], ["Killing", 0], ["Started", 1]]);
  });
});
