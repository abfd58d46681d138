// The requests about a pod, from the audit log, newest first.
import type { Pod } from "../api/gen";
import { watchAuditOf } from "../pure/calls";
import { type Deed, deeds } from "../pure/deeds";
import { said } from "../pure/said";
import { full, since } from "../pure/time";
import { now } from "../state/clock";
import { useTrail } from "../state/deeds";
import { ApiButton } from "./commands";
import { Waiting } from "./waiting";

/** Deeds also shows the requests about earlier pods of this name. */
export function Deeds({ pod }: { pod: Pod }) {
  const { entries, known, problem } = useTrail(pod);
  const rows = deeds(entries);
  return (
    <section>
      <div class="section-head">
        <p class="muted">{rows.length > 0 && "Who did what, newest first"}</p>
        <ApiButton call={watchAuditOf(pod)} />
      </div>
      {problem && <p class="nothing">{problem}</p>}
      {!known && !problem && <Waiting />}
      {known && rows.length === 0 && <p class="nothing">The audit log holds nothing about this pod.</p>}
      <ol class="events deeds">
        {rows.map((d) => (
          <Row key={d.id} deed={d} />
        ))}
      </ol>
    </section>
  );
}

function Row({ deed: d }: { deed: Deed }) {
  return (
    <li class={d.state === "done" || d.state === "open" ? "event" : "event bad"}>
      <time dateTime={d.time} title={full(d.time)}>
        {since(d.time, now.value)}
      </time>
      <span class="event-reason">{said(d.who)}</span>
      <span class="event-what">
        <span class="deed">{said(d.what)}</span> <span>{said(d.outcome)}</span> {d.from && <span class="muted">from {said(d.from)}</span>}
      </span>
    </li>
  );
}
