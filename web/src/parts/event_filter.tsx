// The events of a page with a filter by kind, reason and words, which the address holds.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Event } from "../api/gen";
import type { Row } from "../pure/export";
import { eventWishOf, findEvents, reasonsOf } from "../pure/find_events";
import { place, setQuery } from "../state/route";
import { EventList } from "./events";
import { Export } from "./export";
import { Icon } from "./icons";

interface Props {
  events: readonly Event[];
  of?: "pod";
  /** What stands to the right of the filter. */
  tools: ComponentChildren;
}

const most = 200;

const rowOf = ({ time, firstTime, type, reason, namespace, name, container, message, count }: Event): Row => ({ time, firstTime, type: type === "EVENT_TYPE_WARNING" ? "Warning" : "Normal", reason, namespace, name, container, message, count: count ?? 1 });

export function FilteredEvents({ events, of, tools }: Props) {
  const whole = useSignal(false);
  const wish = eventWishOf(place.value.query);
  const found = findEvents(events, wish);
  return (
    <section>
      <div class="log-search">
        <label class="search">
          <Icon name="search" />
          <input type="search" aria-label="Search the events" placeholder={of ? "Container, reason, message" : "Pod, reason, message"} value={wish.text} onInput={(e) => setQuery("q", e.currentTarget.value)} />
        </label>
        <select aria-label="Kind" value={wish.kind} onChange={(e) => setQuery("kind", e.currentTarget.value)}>
          <option value="">All kinds</option>
          <option value="warning">Warnings</option>
          <option value="normal">Normal</option>
        </select>
        <select aria-label="Reason" value={wish.reason} onChange={(e) => setQuery("reason", e.currentTarget.value)}>
          <option value="">All reasons</option>
          {reasonsOf(events, wish.reason).map(([reason, count]) => (
            <option value={reason}>
              {reason} ({count})
            </option>
          ))}
        </select>
        <span class="muted num">{found.length < events.length && `${found.length} of ${events.length}, `}newest first</span>
        <span class="grow" />
        {tools}
        <Export name="events" rows={() => found.map(rowOf)} />
      </div>
      {found.length === 0 && events.length > 0 ? <p class="nothing">No event matches.</p> : <EventList {...(of && { of })} events={whole.value ? found : found.slice(0, most)} />}
      {found.length > most && (
        <button type="button" class="link-button more" onClick={() => (whole.value = !whole.value)}>
          {whole.value ? "Show fewer" : `Show all ${found.length}`}
        </button>
      )}
    </section>
  );
}
