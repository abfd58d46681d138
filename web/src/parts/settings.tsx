// What the node was told by files and flags, and what it makes of it. It is asked for when it is opened.
import { useSignal } from "@preact/signals";
import type { FeatureGate, GetNodeConfigResponse } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { getNodeConfig } from "../pure/calls";
import { valueText } from "../pure/configuration";
import { ApiButton } from "./commands";
import { Waiting } from "./waiting";

export function SettingsSection() {
  const answer = useSignal<GetNodeConfigResponse | null>(null);
  const problem = useSignal("");
  const ask = async () => {
    const got = await perform<GetNodeConfigResponse>(getNodeConfig()).catch(messageOf);
    problem.value = typeof got === "string" ? got : "";
    if (typeof got !== "string") answer.value = got;
  };
  return (
    <section>
      <div class="section-head">
        <h2>Settings</h2>
        <ApiButton call={getNodeConfig()} />
      </div>
      <details class="garbage" onToggle={(e) => void (e.currentTarget.open && ask())}>
        <summary>What files and flags set, and what has no effect</summary>
        {problem.value && <p class="problem" role="alert">{problem.value}</p>}
        {answer.value ? <Told answer={answer.value} /> : !problem.value && <Waiting words="Asking the node…" />}
      </details>
    </section>
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
