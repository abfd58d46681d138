// All events that the page keeps, with a filter.
import { ApiButton } from "../parts/commands";
import { FilteredEvents } from "../parts/event_filter";
import { watchEvents } from "../pure/calls";
import { events } from "../state/live";

export function EventsPage() {
  return (
    <div class="page">
      <div class="page-head">
        <h1>Events</h1>
        <p class="sub">of the node and its pods, deleted ones too</p>
      </div>
      <FilteredEvents events={events.value} tools={<ApiButton call={watchEvents()} />} />
    </div>
  );
}
