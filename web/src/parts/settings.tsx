// What the node was told by files and flags, and what it makes of it.
import type { FeatureGate, GetNodeConfigResponse } from "../api/gen";
import { getNodeConfig } from "../pure/calls";
import { valueText } from "../pure/configuration";
import { Answer } from "./answer";

export function Settings() {
  return (
    <Answer<GetNodeConfigResponse> call={getNodeConfig()} waiting="Asking the node…">
      {(answer) => <Told answer={answer} />}
    </Answer>
  );
}

function Told({ answer }: { answer: GetNodeConfigResponse }) {
  const settings = answer.settings ?? [];
  const gates = answer.featureGates ?? [];
  if (settings.length + gates.length === 0) return <p class="muted">Everything has its default.</p>;
  return (
    <dl class="facts">
      {settings.map((s) => (
        <Line key={s.name} name={s.name} value={valueText(s.value)} source={s.source} instead={s.instead} live={s.takenBy === "TAKEN_BY_RELOAD"} />
      ))}
      {gates.map((g) => (
        <Line key={g.name} name={g.name} value={g.told ? "on" : "off"} source="feature gate" instead={insteadOf(g)} live={false} />
      ))}
    </dl>
  );
}

interface Shown {
  name: string | undefined;
  value: string;
  source: string | undefined;
  instead: string | undefined;
  live: boolean; // the running node takes another value
}

function Line({ name, value, source, instead, live }: Shown) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code class="breakable">{value}</code> <span class="muted">{live ? `${source}, followed while the node runs` : source}</span>
        {instead && <p class="hint warn">{instead}</p>}
      </dd>
    </>
  );
}

const insteadOf = (g: FeatureGate) => (g.withoutEffect ? g.note : "");
