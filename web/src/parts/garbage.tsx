// What has no use on the node any more. It is asked for when it is opened: the node looks through its disk then.
import { useSignal } from "@preact/signals";
import type { Garbage, ListGarbageResponse } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { listGarbage } from "../pure/calls";
import { fateOf, subjectOf, summaryOf } from "../pure/garbage";
import { bytes } from "../pure/time";
import { now } from "../state/clock";
import { ApiButton } from "./commands";
import { Waiting } from "./waiting";

export function GarbageSection() {
  const answer = useSignal<ListGarbageResponse | null>(null);
  const problem = useSignal("");
  const ask = async () => {
    const got = await perform<ListGarbageResponse>(listGarbage()).catch(messageOf);
    problem.value = typeof got === "string" ? got : (got.faults ?? []).join("; ");
    if (typeof got !== "string") answer.value = got;
  };
  return (
    <section>
      <div class="section-head">
        <h2>Garbage</h2>
        <ApiButton call={listGarbage()} />
      </div>
      <details class="garbage" onToggle={(e) => void (e.currentTarget.open && ask())}>
        <summary>{answer.value ? summaryOf(answer.value.garbage ?? []) : "What has no use any more, and when it goes"}</summary>
        {problem.value && <p class="problem" role="alert">{problem.value}</p>}
        {answer.value ? <GarbageTable list={answer.value.garbage ?? []} /> : !problem.value && <Waiting words="Looking through the node…" />}
      </details>
    </section>
  );
}

function GarbageTable({ list }: { list: readonly Garbage[] }) {
  if (list.length === 0) return <p class="muted">Everything on the node is in use.</p>;
  return (
    <table class="garbage-list">
      <thead>
        <tr>
          <th scope="col">Kind</th>
          <th scope="col">What</th>
          <th scope="col">Size</th>
          <th scope="col">Why, and when it goes</th>
        </tr>
      </thead>
      <tbody>
        {list.map((g) => (
          <tr key={`${g.kind} ${g.name}`} title={g.name}>
            <td>{g.kind}</td>
            <th scope="row">{subjectOf(g)}</th>
            <td class="num">{g.bytes ? bytes(Number(g.bytes)) : "–"}</td>
            <td>
              {g.why}
              <span class="muted"> · {fateOf(g, now.value)}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
