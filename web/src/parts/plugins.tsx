// The node's plugins, and the devices that they or its configuration offer to pods.
import type { DeviceResource, ListPluginsResponse, ListSharesResponse, Plugin, Share } from "../api/gen";
import { listPlugins, listShares } from "../pure/calls";
import { heldBy, offererOf, standingOf, stateOf, summaryOf } from "../pure/plugins";
import { Answer } from "./answer";

export function Plugins() {
  return (
    <>
      <Offered />
      <Answer<ListSharesResponse> call={listShares()} waiting="Asking who has what…">
        {(answer) => <Shares list={answer.shares ?? []} />}
      </Answer>
    </>
  );
}

function Offered() {
  return (
    <Answer<ListPluginsResponse> call={listPlugins()} waiting="Asking the node…">
      {(answer) => (
        <>
          <p class="muted">{summaryOf(answer)}</p>
          <Resources list={answer.devices ?? []} />
          <Registered list={answer.plugins ?? []} />
        </>
      )}
    </Answer>
  );
}

function Resources({ list }: { list: readonly DeviceResource[] }) {
  if (list.length === 0) return <p class="muted">No plugin and no setting of the node offers devices.</p>;
  return (
    <table class="garbage-list">
      <thead>
        <tr>
          <th scope="col">Resource</th>
          <th scope="col">From</th>
          <th scope="col">In use</th>
          <th scope="col">Healthy</th>
          <th scope="col">Problem</th>
        </tr>
      </thead>
      <tbody>
        {list.map((r) => (
          <tr key={r.name} title={r.socket}>
            <th scope="row">{r.name}</th>
            <td>{offererOf(r)}</td>
            <td class="num">{r.assigned ?? 0}</td>
            <td class="num">
              {r.healthy ?? 0} of {r.capacity ?? 0}
            </td>
            <td>{stateOf(r) || <span class="muted">–</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Shares({ list }: { list: readonly Share[] }) {
  if (list.length === 0) return <p class="muted">No container has CPUs, memory or devices for itself alone.</p>;
  return (
    <table class="garbage-list">
      <thead>
        <tr>
          <th scope="col">Container</th>
          <th scope="col">Has for itself alone</th>
        </tr>
      </thead>
      <tbody>
        {list.map((s) => (
          <tr key={`${s.uid}/${s.container}`}>
            <th scope="row">
              {s.namespace}/{s.name} {s.container}
            </th>
            <td>
              {heldBy(s)}
              {s.untilStarted && <span class="muted"> until the application begins</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Registered({ list }: { list: readonly Plugin[] }) {
  if (list.length === 0) return null;
  return (
    <table class="garbage-list">
      <thead>
        <tr>
          <th scope="col">Plugin</th>
          <th scope="col">Type</th>
          <th scope="col">Socket</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {list.map((p) => (
          <tr key={p.socket} title={p.endpoint}>
            <th scope="row">{p.name || "?"}</th>
            <td>{p.type}</td>
            <td>{p.socket}</td>
            <td>{standingOf(p)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
