// What the node may run short of, and the pods that would go for it.
import { getPressure } from "../pure/calls";
import { linesOf, signalName } from "../pure/pressure";
import { now } from "../state/clock";
import { node } from "../state/live";
import { usePressure } from "../state/pressure";
import { ApiButton } from "./commands";
import { HealthIcon } from "./icons";
import { PodLink } from "./pod_link";

const shown = 3;

export function Pressure() {
  const told = usePressure((node.value?.conditions ?? []).map((c) => c.status).join());
  const lines = told ? linesOf(told, now.value) : [];
  if (!told || lines.length === 0) return null;
  const next = (told.pods ?? []).slice(0, shown);
  return (
    <section aria-label="Thresholds of eviction">
      <div class="section-head">
        <h2>Room that is left</h2>
        <ApiButton call={getPressure()} />
      </div>
      <table class="pressure">
        <thead>
          <tr>
            <th scope="col">Resource</th>
            <th scope="col">Left</th>
            <th scope="col" title="Below this the node evicts pods">At least</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.signal + line.least}>
              <th scope="row" title={line.signal}>
                <HealthIcon health={line.health} /> {line.name}
              </th>
              <td>
                {line.left}
                {line.state && <p class="why">{line.state}</p>}
              </td>
              <td>{line.least}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {next.length > 0 && (
        <>
          <h3>First to go for {signalName(told.signal)}</h3>
          <ol class="pressure-next">
            {next.map((pod) => (
              <li key={pod.uid}>
                <PodLink pod={pod} /> <span class="muted">{pod.reason}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
