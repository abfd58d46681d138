// What is so with a node or a pod, since when, and why it is not.
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
