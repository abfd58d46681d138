// One pod: its head stays, the rest is by tab.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { lazily } from "../parts/lazily";
import { Ask } from "../parts/ask";
import { ApiButton, CopyButton } from "../parts/commands";
import { EventList } from "../parts/events";
import { HealthIcon } from "../parts/icons";
import { Waiting } from "../parts/waiting";
import { Yaml } from "../parts/yaml";
import type { Pod, RestartPodResponse } from "../api/gen";
import { perform } from "../api/request";
import { deletePod, getPod, restartPod, watchEventsOf } from "../pure/calls";
import { healthOf, keyOf, objectOf, readiness, reasonOf, whyOf } from "../pure/health";
import { age, since } from "../pure/time";
import { toYaml } from "../pure/yaml";
import { undo } from "../state/applied";
import { now } from "../state/clock";
import { events, pods, probes, synced } from "../state/live";
import { go, hrefOf } from "../state/route";
import { canExec, canWrite, may, session } from "../state/session";
import { Overview } from "./overview";
import { LogsTab } from "./logs";

const TerminalTab = lazily(() => import("./terminal").then((m) => m.TerminalTab));

interface Props {
  namespace: string;
  name: string;
  tab: string;
}

export function PodPage({ namespace, name, tab }: Props) {
  const pod = pods.value.get(`${namespace}/${name}`);
  const last = useSignal<Pod | undefined>(pod);
  if (pod && last.peek() !== pod) last.value = pod;
  const shown = pod ?? last.value;
  if (!shown) return <Missing namespace={namespace} name={name} />;
  return (
    <div class="page pod-page">
      <Head pod={shown} gone={!pod && synced.value} />
      <Tabs pod={shown} tab={tab} />
      <Tab pod={shown} tab={tab} />
    </div>
  );
}

function Missing({ namespace, name }: { namespace: string; name: string }) {
  if (!synced.value) return <Waiting />;
  return (
    <div class="page">
      <h1>{name}</h1>
      <p>
        There is no pod <code>{namespace}/{name}</code> on this node. It may have been deleted. <a href={hrefOf("pods")}>All pods</a>
      </p>
    </div>
  );
}

function Head({ pod, gone }: { pod: Pod; gone: boolean }) {
  const health = healthOf(pod);
  const why = whyOf(pod, probes.value.get(pod.uid ?? ""));
  return (
    <div class="pod-head">
      <div class="pod-title">
        <h1>
          <a class="ns" href={`${hrefOf("pods")}?q=${encodeURIComponent(`${pod.namespace}/`)}`}>{pod.namespace}/</a>
          {pod.name}
        </h1>
        {gone ? (
          <span class="state leaving">Deleted</span>
        ) : (
          <span class={`state ${health}`}>
            <HealthIcon health={health} /> {reasonOf(pod)}
          </span>
        )}
        {!gone && canWrite.value && <Actions pod={pod} />}
      </div>
      {why && !gone && <p class={`pod-why ${health}`}>{why}</p>}
      {gone && <p class="pod-why">The pod is gone from this node; what you see is the last that was known of it.</p>}
      <ul class="pod-line">
        {factsOf(pod).map((fact) => (
          <li>{fact}</li>
        ))}
      </ul>
    </div>
  );
}

function factsOf(pod: Pod): ComponentChildren[] {
  const { ready, all } = readiness(pod);
  return [
    `${ready}/${all} ready`,
    `${pod.restarts ?? 0} ${pod.restarts === 1 ? "restart" : "restarts"}`,
    ...(pod.podIps ?? []).map((ip) => <span class="mono">{ip}</span>),
    `${since(pod.acceptedAt, now.value)} old`,
    `from ${pod.source}`,
    objectOf(pod).status?.qosClass,
    pod.deletionDeadline && `killed in at most ${age(Date.parse(pod.deletionDeadline) - now.value)}`,
  ].filter(Boolean);
}

function Tabs({ pod, tab }: { pod: Pod; tab: string }) {
  const tabs = [
    ["", "Overview"],
    ...(session.value?.live ? [["logs", "Logs"]] : []),
    ...(canExec.value ? [["terminal", "Terminal"]] : []),
    ["events", "Events"],
    ["yaml", "YAML"],
  ] as Array<[string, string]>;
  return (
    <nav class="tabs" aria-label="Parts of the pod">
      {tabs.map(([id, name]) => (
        <a href={id ? hrefOf("pods", pod.namespace!, pod.name!, id) : hrefOf("pods", pod.namespace!, pod.name!)} aria-current={tab === id ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

function Tab({ pod, tab }: { pod: Pod; tab: string }) {
  switch (tab) {
    case "logs":
      return <LogsTab pod={pod} />;
    case "terminal":
      return canExec.value ? <TerminalTab pod={pod} /> : <p class="nothing">{may("exec") ? "Terminals change things: turn off “Read-only” at the top to open one." : "Terminals change things, which your role may not."}</p>;
    case "events":
      return <EventsTab pod={pod} />;
    case "yaml":
      return <YamlTab pod={pod} />;
    default:
      return <Overview pod={pod} />;
  }
}

/** EventsTab shows those of earlier pods of the name as well. */
function EventsTab({ pod }: { pod: Pod }) {
  const own = events.value.filter((e) => e.namespace === pod.namespace && e.name === pod.name);
  return (
    <section>
      <div class="section-head">
        <p class="muted">{own.length > 0 && "Newest first"}</p>
        <ApiButton call={watchEventsOf(pod)} />
      </div>
      <EventList of="pod" events={own} />
    </section>
  );
}

function YamlTab({ pod }: { pod: Pod }) {
  const part = useSignal<"spec" | "status" | "all">("all");
  const object = objectOf(pod);
  const value = part.value === "all" ? object : { [part.value]: object[part.value] };
  const text = toYaml(value);
  return (
    <section>
      <div class="section-head">
        <div class="segments" role="group" aria-label="Part">
          {(["all", "spec", "status"] as const).map((id) => (
            <button type="button" aria-pressed={part.value === id} onClick={() => (part.value = id)}>
              {id === "all" ? "Whole" : id}
            </button>
          ))}
        </div>
        <div class="section-tools">
          <ApiButton call={getPod(pod)} />
          <CopyButton text={text} />
        </div>
      </div>
      <Yaml text={text} />
    </section>
  );
}

function Actions({ pod }: { pod: Pod }) {
  const asked = useSignal<"" | "restart" | "delete">("");
  const close = () => (asked.value = "");
  const own = pod.source === "api";
  return (
    <div class="actions">
      <button type="button" onClick={() => (asked.value = "restart")} disabled={!!pod.deletionDeadline}>
        Restart…
      </button>
      {own && undo.value.has(keyOf(pod)) && (
        <a class="button" title="See what it was before you changed it, and apply that" href={`${hrefOf("apply")}?undo=${encodeURIComponent(keyOf(pod))}`}>
          Roll back…
        </a>
      )}
      {own && (
        <a class="button" href={`${hrefOf("apply")}?from=${encodeURIComponent(keyOf(pod))}`}>
          Edit…
        </a>
      )}
      <button type="button" class="danger" onClick={() => (asked.value = "delete")} disabled={!own} title={own ? undefined : `The pod comes from ${pod.source}: remove it there`}>
        Delete…
      </button>
      {asked.value === "restart" && <Restart pod={pod} onClose={close} />}
      {asked.value === "delete" && <Delete pod={pod} onClose={close} />}
    </div>
  );
}

function Restart({ pod, onClose }: { pod: Pod; onClose: () => void }) {
  const container = useSignal("");
  const names = (objectOf(pod).spec?.containers ?? []).map((c) => c.name);
  const call = restartPod(pod, container.value);
  const act = async () => {
    await perform<RestartPodResponse>(call);
    onClose();
  };
  return (
    <Ask title={`Restart ${pod.name}`} call={call} button="Restart" act={act} onClose={onClose}>
      <p>Each container is stopped within its grace period and started again. The pod keeps its address and its volumes.</p>
      <label class="field">
        What
        <select value={container.value} onChange={(e) => (container.value = e.currentTarget.value)}>
          <option value="">the whole pod</option>
          {names.map((name) => (
            <option value={name}>container {name}</option>
          ))}
        </select>
      </label>
    </Ask>
  );
}

function Delete({ pod, onClose }: { pod: Pod; onClose: () => void }) {
  const own = Number(objectOf(pod).spec?.["terminationGracePeriodSeconds"] ?? 30);
  const grace = useSignal(String(own));
  const call = deletePod(pod, grace.value || String(own));
  const act = async () => {
    await perform(call);
    onClose();
    if (!pods.value.has(keyOf(pod))) go(hrefOf("pods"));
  };
  return (
    <Ask title={`Delete ${pod.name}`} call={call} button="Delete the pod" danger act={act} onClose={onClose}>
      <p>
        Its containers are asked to stop and, once the time is up, killed. What it wrote into its own volumes goes with it.
      </p>
      <label class="field">
        Seconds to stop in
        <input type="number" min={0} max={86_400} required value={grace.value} onInput={(e) => (grace.value = e.currentTarget.value)} />
      </label>
      {grace.value === "0" && <p class="hint">Without time to stop, containers are killed at once and may lose data.</p>}
    </Ask>
  );
}
