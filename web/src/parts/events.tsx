// Events as rows of a table, newest first.
import type { Event } from "../api/gen";
import { said } from "../pure/said";
import { full, since } from "../pure/time";
import { now } from "../state/clock";
import { hrefOf } from "../state/route";

/** isNamed reports whether the message names the container already. */
const isNamed = ({ container = "", message = "" }: Event) => message.includes(`container ${container}`);

export function EventList({ events, of }: { events: readonly Event[]; of?: "pod" }) {
  if (events.length === 0) return <p class="nothing">Nothing has happened yet.</p>;
  return (
    <ol class="events">
      {events.map((e) => (
        <li key={e.revision} class={e.type === "EVENT_TYPE_WARNING" ? "event bad" : "event"}>
          <time dateTime={e.time} title={e.time && full(e.time)}>
            {since(e.time, now.value)}
          </time>
          <span class="event-reason">{e.reason}</span>
          <span class="event-what">
            {!of && e.name && (
              <a href={hrefOf("pods", e.namespace ?? "default", e.name)}>
                {e.namespace !== "default" && `${e.namespace}/`}
                {e.name}
              </a>
            )}
            {e.container && !isNamed(e) && <span class="event-container">{e.container}</span>} <span title={e.message}>{said(e.message ?? "")}</span>
            {(e.count ?? 1) > 1 && <span class="times">{e.count}×</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}
