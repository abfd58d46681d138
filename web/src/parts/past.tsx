// The recorded usage of the node or of a pod, under its limit, with marks where memory ran out.
import { useSignal } from "@preact/signals";
import type { Event } from "../api/gen";
import { holeOf, marksOf, pointsOf, reaches } from "../pure/past";
import { cores } from "../pure/quantity";
import { bytes } from "../pure/time";
import { callOf, usePast, type Whose } from "../state/past";
import { ApiButton } from "./commands";
import { Spark } from "./spark";

interface Props {
  of: Whose;
  events: readonly Event[];
  /** The limits where the record has none: what the machine has. */
  memory?: number | null;
  cpu?: number | null;
}

export function Past({ of, events, memory = null, cpu = null }: Props) {
  const chosen = useSignal(reaches[0]!);
  const reach = chosen.value;
  const { answer, to, refused } = usePast(of, reach);
  const span = { from: to - reach.length, to };
  const points = answer?.points ?? [];
  const marks = marksOf(events, span);
  const limit = answer?.memoryLimitBytes === undefined ? memory : Number(answer.memoryLimitBytes);
  return (
    <section class="past">
      <div class="section-head">
        <h2>Usage on record</h2>
        <div class="section-tools">
          <ApiButton call={callOf(of, reach, to)} />
          <div class="segments" role="group" aria-label="Time">
            {reaches.map((r) => (
              <button type="button" key={r.id} aria-pressed={r.id === reach.id} onClick={() => (chosen.value = r)}>
                {r.words}
              </button>
            ))}
          </div>
        </div>
      </div>
      {refused || (answer && points.length === 0) ? (
        <p class="nothing">{refused || "Nothing was recorded in this time."}</p>
      ) : (
        <div class="past-charts">
          <div>
            <p class="muted">Memory{limit !== null && `, of ${bytes(limit)}`}</p>
            <Spark points={pointsOf(points, "workingSetBytes")} span={span} limit={limit} least={2 ** 20} words={bytes} label="Memory on record" marks={marks} hole={holeOf(reach)} />
          </div>
          <div>
            <p class="muted">CPU{(answer?.cpuLimitCores ?? cpu) !== null && `, of ${cores((answer?.cpuLimitCores ?? cpu)!)}`}</p>
            <Spark points={pointsOf(points, "cores")} span={span} limit={answer?.cpuLimitCores ?? cpu} least={0.005} words={cores} label="CPU on record" hole={holeOf(reach)} />
          </div>
        </div>
      )}
      {marks.length > 0 && (
        <ul class="past-marks">
          {marks.map((m) => (
            <li>
              <i class="past-mark" aria-hidden="true" /> {m.label}
            </li>
          ))}
        </ul>
      )}
      {answer?.missing && <p class="muted">incomplete: {answer.missing}</p>}
    </section>
  );
}
