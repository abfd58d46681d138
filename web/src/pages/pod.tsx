// One pod: a fixed head, and a tab for each part.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { lazily } from "../parts/lazily";
import { ApiButton, CopyButton } from "../parts/commands";
import { HealthIcon } from "../parts/icons";
import { usePodKeys } from "../parts/keys";
import { PodActions } from "../parts/pod_actions";
import { Waiting } from "../parts/waiting";
import { Yaml } from "../parts/yaml";
import type { Pod } from "../api/gen";
import { getPod, watchEventsOf } from "../pure/calls";
import { healthOf, isLate, keyOf, objectOf, readiness, reasonOf, unreadySince, whyOf } from "../pure/health";
import { age, since } from "../pure/time";
import { toYaml } from "../pure/yaml";
import { now } from "../state/clock";
import { events, pods, probes, synced } from "../state/live";
import { hrefOf } from "../state/route";
import { isAdmin, canExec, canWrite, may, session } from "../state/session";
import { Overview } from "./overview";

const FilteredEvents = lazily(() => import("../parts/event_filter").then((m) => m.FilteredEvents));
const Deeds = lazily(() => import("../parts/deeds").then((m) => m.Deeds));
const GonePod = lazily(() => import("./pod_gone").then((m) => m.GonePod));
const Record = lazily(() => import("../parts/record").then((m) => m.Record));
const LogsTab = lazily(() => import("./logs").then((m) => m.LogsTab));
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
  usePodKeys({ namespace, name });
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
  const own = events.value.filter((e) => e.namespace === namespace && e.name === name);
  return (
    <div class="page">
      <h1>{name}</h1>
      <p>
        There is no pod <code>{namespace}/{name}</code> on this node. {own.length > 0 ? "It is gone; this is what the node remembers." : "It may have been deleted."} <a href={hrefOf("pods")}>All pods</a>
      </p>
      {own.length > 0 && <GonePod namespace={namespace} name={name} events={own} />}
    </div>
  );
}

function Head({ pod, gone }: { pod: Pod; gone: boolean }) {
  const health = healthOf(pod, now.value);
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
        {canWrite.value && <PodActions pod={pod} gone={gone} />}
      </div>
      {why && !gone && (
        <p class={`pod-why ${health}`}>
          {why} {isLate(pod, now.value) && <span class="muted">not ready for {age(now.value - unreadySince(pod))}</span>}
        </p>
      )}
      {gone && <p class="pod-why">The pod is gone from this node. This page shows its last known state.</p>}
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
    pod.deletionDeadline && `killed within ${age(Date.parse(pod.deletionDeadline) - now.value)}`,
  ].filter(Boolean);
}

function Tabs({ pod, tab }: { pod: Pod; tab: string }) {
  const tabs = [
    ["", "Overview"],
    ...(session.value?.live ? [["logs", "Logs"]] : []),
    ...(canExec.value ? [["terminal", "Terminal"]] : []),
    ["record", "Record"],
    ["events", "Events"],
    ["yaml", "YAML"],
    ...(isAdmin.value ? [["audit", "Audit"]] : []),
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
      return canExec.value ? <TerminalTab pod={pod} /> : <p class="nothing">{may("exec") ? "Terminals change things: turn off “Read-only”, the lock at the top, to open one." : "Terminals change things, which your role may not."}</p>;
    case "record":
      return <Record of={{ namespace: pod.namespace!, name: pod.name!, uid: pod.uid ?? "", present: pods.value.get(keyOf(pod))?.uid === pod.uid }} />;
    case "events":
      return <EventsTab pod={pod} />;
    case "yaml":
      return <YamlTab pod={pod} />;
    case "audit":
      return isAdmin.value ? <Deeds pod={pod} /> : <p class="nothing">The audit log is for admins.</p>;
    default:
      return <Overview pod={pod} />;
  }
}

/** EventsTab also shows the events of earlier pods of this name. */
function EventsTab({ pod }: { pod: Pod }) {
  const own = events.value.filter((e) => e.namespace === pod.namespace && e.name === pod.name);
  return <FilteredEvents of="pod" events={own} tools={<ApiButton call={watchEventsOf(pod)} />} />;
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
