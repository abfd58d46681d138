// The node: its problems first, then the state of its pods, then its facts.
import type { PodStats, SettingWarning, Shutdown, Source } from "../api/gen";
import { ApiButton, CopyButton } from "../parts/commands";
import { Conditions } from "../parts/conditions";
import { Cordon, CordonButton } from "../parts/cordon";
import { ConfigurationSection, RejectedFiles } from "../parts/configuration";
import { Drawers } from "../parts/drawers";
import { EventList } from "../parts/events";
import { Fact } from "../parts/fact";
import { Gauges } from "../parts/gauges";
import { HealthIcon } from "../parts/icons";
import { Past } from "../parts/past";
import { PodLink } from "../parts/pod_link";
import { Pressure } from "../parts/pressure";
import { Waiting } from "../parts/waiting";
import { getNode, watchEvents } from "../pure/calls";
import { type ConditionLine, ofNode, troubleOf } from "../pure/conditions";
import { find, tally } from "../pure/find";
import { healthNames, healthOf, healths, isOver, keyOf, reasonOf, whyOf } from "../pure/health";
import { cores, quantity } from "../pure/quantity";
import { said } from "../pure/said";
import { bytes, full, since } from "../pure/time";
import { now, slow } from "../state/clock";
import { events, node, podList, probes, synced } from "../state/live";
import { hrefOf } from "../state/route";
import { useNodeUsage } from "../state/usage";

export function NodePage() {
  const n = node.value;
  const usage = useNodeUsage();
  if (!n) return <Waiting />;
  const conditions = ofNode(n.conditions ?? []);
  return (
    <div class="page">
      <div class="page-head">
        <h1>{n.name}</h1>
        {n.cordon && (
          <span class="state leaving">
            <HealthIcon health="leaving" /> Cordoned
          </span>
        )}
        <p class="sub">
          kubelet {n.version}, up {since(n.startedAt, now.value)} · {n.osImage}
        </p>
        <div class="page-tools">
          <CordonButton node={n} />
          <ApiButton call={getNode(n.name ?? "")} />
        </div>
      </div>
      {n.cordon && <Cordon cordon={n.cordon} />}
      {n.shutdown && <ShuttingDown shutdown={n.shutdown} />}
      <RejectedFiles of={n.configuration} />
      <SourceErrors sources={n.sources ?? []} />
      <Settings warnings={n.warnings ?? []} />
      <NodeTrouble lines={conditions} />
      <Gauges track={usage} />
      <Past of={null} events={events.value} memory={quantity(n.capacity?.["memory"])} cpu={quantity(n.capacity?.["cpu"])} />
      <div class="columns">
        <div class="column-main">
          <PodStates />
          <Trouble />
          <Busiest pods={usage.latest?.pods} />
          <Drawers />
          <LastEvents />
        </div>
        <aside class="column-side">
          <section>
            <h2>Conditions</h2>
            <Conditions lines={conditions} />
          </section>
          <Pressure />
          <Facts />
          <Sources sources={n.sources ?? []} />
          <ConfigurationSection of={n.configuration} />
        </aside>
      </div>
    </div>
  );
}

/** ShuttingDown shows how far a shutdown of the machine has come, and which pods it waits for. */
function ShuttingDown({ shutdown }: { shutdown: Shutdown }) {
  const waiting = shutdown.waiting ?? [];
  return (
    <section class="alarm" aria-label="Shutdown of the machine">
      <h2>
        <HealthIcon health="starting" /> The machine shuts down
      </h2>
      <p>
        since {since(shutdown.beganAt, now.value)}
        {shutdown.done
          ? "; no pod is waited for any more"
          : ` (${shutdown.cause}); pods from priority ${shutdown.priority ?? 0} on end now`}
      </p>
      <ul>
        {waiting.map((pod) => (
          <li key={`${pod.namespace}/${pod.name}`}>
            <code>
              {pod.namespace}/{pod.name}
            </code>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** SourceErrors come first: a bad manifest in a directory shows nowhere else. */
function SourceErrors({ sources }: { sources: Source[] }) {
  const wrong = sources.flatMap((s) => (s.errors ?? []).map((error) => ({ source: s, error })));
  if (wrong.length === 0) return null;
  return (
    <section class="alarm" aria-label="Errors of sources">
      <h2>
        <HealthIcon health="failing" /> {wrong.length === 1 ? "A manifest is invalid" : `${wrong.length} manifests are invalid`}
      </h2>
      <ul>
        {wrong.map(({ source, error }) => (
          <li>
            <code>{error.origin || source.location}</code>
            <span class="muted">
              {source.name}, {since(error.time, now.value)} ago
            </span>
            <p>{error.message}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Settings shows which settings let callers in that should stay out, or have no effect. */
function Settings({ warnings }: { warnings: SettingWarning[] }) {
  if (warnings.length === 0) return null;
  return (
    <section class="alarm" aria-label="Settings of the node">
      <h2>
        <HealthIcon health="starting" /> {warnings.length === 1 ? "A setting of the node" : `${warnings.length} settings of the node`}
      </h2>
      <ul>
        {warnings.map((w) => (
          <li key={w.setting}>
            <code>{w.setting}</code>
            <p>
              {w.message}; {w.remedy}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** NodeTrouble shows what the node itself lacks. Pods that cannot start show only part of it. */
function NodeTrouble({ lines }: { lines: readonly ConditionLine[] }) {
  return (
    <>
      {lines.filter((line) => line.health === "failing").map((line) => {
        const { title, message } = troubleOf(line);
        return (
          <section key={line.type} class="alarm" aria-label={title}>
            <h2>
              <HealthIcon health="failing" /> {title}
            </h2>
            <p>{said(message)}</p>
          </section>
        );
      })}
    </>
  );
}

function PodStates() {
  const counts = tally(podList.value, slow.value);
  const all = podList.value.length;
  const most = node.value?.capacity?.["pods"];
  return (
    <section>
      <h2>
        Pods <span class="muted">{synced.value && (most ? `${all} of at most ${most}` : all)}</span>
      </h2>
      {all > 0 && (
        <div class="bar" aria-hidden="true">
          {healths.map((h) => counts.get(h) && <i class={`fill ${h}`} style={{ flexGrow: counts.get(h) }} />)}
        </div>
      )}
      <ul class="legend">
        {healths.map((h) => (
          <li class={counts.get(h) ? "" : "zero"}>
            <a href={`${hrefOf("pods")}?state=${h}`}>
              <HealthIcon health={h} />
              <b>{counts.get(h) ?? 0}</b> {healthNames[h]}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Trouble lists the pods that need attention. */
function Trouble() {
  const bad = find(podList.value, { text: "", health: "", sort: "health", down: false }, new Map(), slow.value).filter((pod) => ["failing", "failed"].includes(healthOf(pod, slow.value)));
  if (bad.length === 0) return null;
  return (
    <section>
      <h2>Look at these</h2>
      <ul class="trouble">
        {bad.slice(0, 8).map((pod) => (
          <li key={keyOf(pod)}>
            <HealthIcon health={healthOf(pod, slow.value)} />
            <PodLink pod={pod} />
            <span class="reason">{reasonOf(pod)}</span>
            <span class="why">{whyOf(pod, probes.value.get(pod.uid ?? ""))}</span>
          </li>
        ))}
      </ul>
      {bad.length > 8 && <a href={hrefOf("pods") /* the worst first */}>and {bad.length - 8} more</a>}
    </section>
  );
}

const shownBusiest = 5;

/** Coming keeps room for figures that are on their way, so that the page does not jump. */
function Coming({ rows }: { rows: number }) {
  if (rows === 0) return null;
  return (
    <section aria-hidden="true">
      <h2>Using most</h2>
      <table class="busiest">
        <tbody>
          {Array.from({ length: Math.min(rows, shownBusiest) + 1 }, () => (
            <tr>
              <td>…</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Busiest lists the pods with the highest usage. */
function Busiest({ pods }: { pods: PodStats[] | undefined }) {
  if (!pods) return <Coming rows={podList.value.filter((pod) => !isOver(pod)).length} />;
  const cpu = (pod: PodStats) => pod.usage?.cores ?? 0;
  const memory = (pod: PodStats) => Number(pod.usage?.workingSetBytes ?? 0);
  const there = new Set(podList.value.map((pod) => pod.uid)); // figures may include pods that are gone
  const most = pods.filter((pod) => there.has(pod.uid) && memory(pod) > 0).sort((a, b) => cpu(b) - cpu(a) || memory(b) - memory(a));
  if (most.length === 0) return null;
  const share = (value: number, of: (pod: PodStats) => number) => `${(value / Math.max(1e-9, ...most.map(of))) * 100}%`;
  return (
    <section>
      <h2>Using most</h2>
      <table class="busiest">
        <thead>
          <tr>
            <th scope="col">Pod</th>
            <th scope="col">CPU</th>
            <th scope="col">Memory</th>
          </tr>
        </thead>
        <tbody>
          {most.slice(0, shownBusiest).map((pod) => (
            <tr key={pod.uid}>
              <th scope="row">
                <PodLink pod={pod} />
              </th>
              <td>
                <i style={{ width: share(cpu(pod), cpu) }} />
                <span>{pod.usage?.cores === undefined ? "–" : cores(cpu(pod))}</span>
              </td>
              <td>
                <i style={{ width: share(memory(pod), memory) }} />
                <span>{bytes(memory(pod))}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const someEvents = 20;

function LastEvents() {
  const all = events.value;
  return (
    <section>
      <div class="section-head">
        <h2>Last events</h2>
        <ApiButton call={watchEvents()} />
      </div>
      <EventList events={all.slice(0, someEvents)} />
      {all.length > someEvents && (
        <a class="more" href={hrefOf("events")}>
          All {all.length}, with a search
        </a>
      )}
    </section>
  );
}

function Facts() {
  const n = node.value!;
  const r = n.runtime;
  return (
    <section>
      <h2>Node</h2>
      <dl class="facts">
        <Fact name="Runtime">
          {r?.name} {r?.version}
        </Fact>
        <Fact name="Kernel">{n.kernelVersion}</Fact>
        <Fact name="Machine">{n.architecture}</Fact>
        <Fact name="Addresses">
          {(n.addresses ?? []).map((a) => (
            <div class="address">{a}</div>
          ))}
        </Fact>
        <Fact name="Started">{n.startedAt && full(n.startedAt)}</Fact>
        <Fact name="Revision">{n.revision}</Fact>
        <Fact name="Endpoint">
          <span class="breakable">{r?.endpoint}</span>
        </Fact>
      </dl>
    </section>
  );
}

function Sources({ sources }: { sources: Source[] }) {
  return (
    <section>
      <h2>Where pods come from</h2>
      <ul class="sources">
        {sources.map((s) => (
          <li>
            <span class="source-name">
              <HealthIcon health={s.errors?.length ? "failing" : s.ready ? "ready" : "starting"} /> {s.name}
            </span>
            <span class="num">{s.pods ?? 0}</span>
            <span class="source-where">
              {s.location}
              {s.location?.startsWith("/") && <CopyButton text={s.location} label="" />}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
