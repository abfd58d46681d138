// What has no use on the node any more. The node looks through its disk when it is asked.
import type { Garbage, ListGarbageResponse } from "../api/gen";
import { listGarbage } from "../pure/calls";
import { fateOf, subjectOf, summaryOf } from "../pure/garbage";
import { bytes } from "../pure/time";
import { now } from "../state/clock";
import { Answer } from "./answer";

export function GarbageList() {
  return (
    <Answer<ListGarbageResponse> call={listGarbage()} waiting="Looking through the node…" faults={(answer) => (answer.faults ?? []).join("; ")}>
      {(answer) => <GarbageTable list={answer.garbage ?? []} />}
    </Answer>
  );
}

function GarbageTable({ list }: { list: readonly Garbage[] }) {
  if (list.length === 0) return <p class="muted">Everything on the node is in use.</p>;
  return (
    <>
      <p class="muted">{summaryOf(list)}</p>
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
    </>
  );
}
