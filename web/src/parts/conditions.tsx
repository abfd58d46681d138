// The conditions of a node or a pod, each with its time and reason.
import type { ConditionLine } from "../pure/conditions";
import { said } from "../pure/said";
import { full, since } from "../pure/time";
import { now } from "../state/clock";
import { HealthIcon } from "./icons";

export function Conditions({ lines }: { lines: readonly ConditionLine[] }) {
  return (
    <ul class="conditions">
      {lines.map((c) => (
        <li key={c.type}>
          <HealthIcon health={c.health} />
          <span>
            {c.type} <span class="muted">{c.words}</span>
            {c.message && <span class="condition-why">{said(c.message)}</span>}
          </span>
          <time class="muted" title={c.since && full(c.since)}>
            {since(c.since, now.value)}
          </time>
        </li>
      ))}
    </ul>
  );
}
