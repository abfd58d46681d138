// What a pod is and how it got there.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { GetTimelineResponse, Pod, Step } from "../api/gen";
import type { Condition, Container, ContainerStatus, EnvVar, State, Volume } from "../api/kube";
import { get } from "../api/request";
import { Timeline } from "../parts/chart";
import { ApiButton, ForwardButton } from "../parts/commands";
import { HealthIcon } from "../parts/icons";
import { ContainerUsage } from "../parts/container_usage";
import { type Health, objectOf } from "../pure/health";
import { spanOf } from "../pure/line";
import { type ProbeStrip, probeStrip } from "../pure/probes";
import { age, full, since } from "../pure/time";
import { volumeUses } from "../pure/uses";
import { now } from "../state/clock";
import { events } from "../state/live";
import { hrefOf } from "../state/route";
import { session } from "../state/session";
import { usePodUsage } from "../state/usage";
import { Fact } from "./node";

export function Overview({ pod }: { pod: Pod }) {
  const object = objectOf(pod);
  const spec = object.spec ?? {};
  const inits = spec.initContainers ?? [];
  const containers = spec.containers ?? [];
  const steps = useTimeline(pod);
  const over = pod.phase === "POD_PHASE_SUCCEEDED" || pod.phase === "POD_PHASE_FAILED";
  const usage = usePodUsage(pod);
  const span = spanOf(...[...usage.containers.values()].map((track) => track.memory));
  return (
    <>
      <section>
        <Timeline steps={steps} containers={[...inits, ...containers].map((c) => c.name)} accepted={pod.acceptedAt ?? ""} now={over ? lastOf(steps, pod) : now.value} whole={over || !pod.ready || (pod.restarts ?? 0) > 0} />
      </section>
      <section>
        <div class="section-head">
          <h2>Containers</h2>
          <ApiButton call={{ method: "GET", path: `/v1/namespaces/${pod.namespace}/pods/${pod.name}`, rpc: "PodsService/GetPod", message: { namespace: pod.namespace, name: pod.name }, kubectl: `kubectl get pod ${pod.name} -n ${pod.namespace} -o yaml` }} />
        </div>
        <div class="containers">
          {inits.map((c) => (
            <ContainerBox pod={pod} container={c} status={object.status?.initContainerStatuses?.find((s) => s.name === c.name)} usage={null} init />
          ))}
          {containers.map((c) => (
            <ContainerBox pod={pod} container={c} status={object.status?.containerStatuses?.find((s) => s.name === c.name)} usage={<ContainerUsage container={c} track={usage.containers.get(c.name)} stats={usage.latest?.containers?.find((s) => s.name === c.name)} span={span} />} />
          ))}
        </div>
      </section>
      <div class="columns even">
        <section>
          <h2>Conditions</h2>
          <Conditions conditions={object.status?.conditions ?? []} />
        </section>
        {(spec.volumes?.length ?? 0) > 0 && (
          <section>
            <h2>Volumes</h2>
            <Volumes pod={pod} volumes={spec.volumes!} />
          </section>
        )}
        {object.metadata?.labels && (
          <section>
            <h2>Labels</h2>
            <ul class="labels">
              {Object.entries(object.metadata.labels).map(([key, value]) => (
                <li>
                  <a href={`${hrefOf("pods")}?q=${encodeURIComponent(`${key}=${value}`)}`}>
                    {key}=<b>{value}</b>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </>
  );
}

const lastOf = (steps: readonly Step[], pod: Pod) => Date.parse(steps.at(-1)?.time ?? pod.acceptedAt ?? "");

/** useTimeline asks again whenever something has happened to the pod. */
function useTimeline(pod: Pod): readonly Step[] {
  const steps = useSignal<readonly Step[]>([]);
  const newest = useSignal("");
  useSignalEffect(() => {
    newest.value = events.value.find((e) => e.uid === pod.uid)?.revision ?? "";
  });
  const stamp = newest.value;
  useEffect(() => {
    let current = true;
    get<GetTimelineResponse>(`/v1/namespaces/${pod.namespace}/pods/${pod.name}/timeline`).then(
      (answer) => current && (steps.value = answer.steps ?? []),
      () => {}, // it stays as it was; that the node is away is said at the top
    );
    return () => {
      current = false;
    };
  }, [pod.uid, stamp]);
  return steps.value;
}

interface ContainerBoxProps {
  pod: Pod;
  container: Container;
  status: ContainerStatus | undefined;
  usage: ComponentChildren;
  init?: boolean;
}

function ContainerBox({ pod, container: c, status, usage, init }: ContainerBoxProps) {
  const state = status?.state;
  const health = healthOfState(state, status?.ready ?? false, init ?? false);
  return (
    <article class="container">
      <header>
        <HealthIcon health={health} />
        <h3>{c.name}</h3>
        {init && <span class="tag">init</span>}
        <span class="container-state">{stateWords(state, status, now.value)}</span>
        {session.value?.live && (
          <a href={`${hrefOf("pods", pod.namespace!, pod.name!, "logs")}?c=${encodeURIComponent(c.name)}`}>Logs</a>
        )}
      </header>
      <dl class="facts wide">
        <Fact name="Image">
          <span class="breakable mono">{c.image}</span>
        </Fact>
        {(c.command || c.args) && (
          <Fact name="Command">
            <code class="breakable">{[...(c.command ?? []), ...(c.args ?? [])].map((w) => (/\s/.test(w) ? JSON.stringify(w) : w)).join(" ")}</code>
          </Fact>
        )}
        {state?.waiting?.message && <Fact name="Waits because">{state.waiting.message}</Fact>}
        {state?.terminated?.message && <Fact name="Last words">{state.terminated.message}</Fact>}
        {(status?.restartCount ?? 0) > 0 && (
          <Fact name="Restarts">
            {status!.restartCount}
            <LastRun state={status!.lastState} />
          </Fact>
        )}
        {c.ports && <Ports pod={pod} ports={c.ports} />}
        <Resources container={c} />
        <Probes pod={pod} container={c} status={status} />
        {c.volumeMounts && (
          <Fact name="Mounts">
            <ul class="mounts">
              {c.volumeMounts.map((m) => (
                <li>
                  <code>{m.mountPath}</code> <span class="muted">{m.name}{m.subPath && `/${m.subPath}`}{m.readOnly && ", read-only"}</span>
                </li>
              ))}
            </ul>
          </Fact>
        )}
        {c.env && <Environment env={c.env} />}
      </dl>
      {usage}
    </article>
  );
}

function healthOfState(state: State | undefined, ready: boolean, init: boolean): Health {
  if (state?.terminated) return state.terminated.exitCode === 0 ? "done" : "failed";
  if (state?.running) return ready || init ? "ready" : "starting";
  const reason = state?.waiting?.reason ?? "";
  return ["", "ContainerCreating", "PodInitializing"].includes(reason) ? "starting" : "failing";
}

function stateWords(state: State | undefined, status: ContainerStatus | undefined, at: number): string {
  if (state?.running) return `${status?.ready === false ? "running, not ready, " : "running "}${status?.ready === false ? "" : "for "}${since(state.running.startedAt, at)}`;
  if (state?.terminated) {
    const t = state.terminated;
    const ran = t.startedAt && t.finishedAt ? ` after ${age(Date.parse(t.finishedAt) - Date.parse(t.startedAt))}` : "";
    return `${t.reason ?? "ended"}, exit code ${t.exitCode ?? 0}${ran}`;
  }
  return state?.waiting?.reason ?? "not created yet";
}

function LastRun({ state }: { state: State | undefined }) {
  const t = state?.terminated;
  if (!t) return null;
  return (
    <span>
      ; the last run ended {t.finishedAt && <span title={full(t.finishedAt)}>{since(t.finishedAt, now.value)} ago</span>} with exit code <b>{t.exitCode}</b>
      {t.reason && t.reason !== "Error" && ` (${t.reason})`}
      {t.message && <pre class="last-words">{t.message}</pre>}
    </span>
  );
}

function Resources({ container: c }: { container: Container }) {
  const names = [...new Set([...Object.keys(c.resources?.requests ?? {}), ...Object.keys(c.resources?.limits ?? {})])];
  if (names.length === 0) return null;
  return (
    <Fact name="Resources">
      {names.map((name) => {
        const asked = c.resources?.requests?.[name];
        const limit = c.resources?.limits?.[name];
        return (
          <div>
            {name}: {asked ? `${asked} requested` : ""}
            {asked && limit ? ", " : ""}
            {limit ? `at most ${limit}` : ""}
          </div>
        );
      })}
    </Fact>
  );
}

function Ports({ pod, ports }: { pod: Pod; ports: NonNullable<Container["ports"]> }) {
  return (
    <Fact name="Ports">
      {ports.map((p) => (
        <div class="port">
          {p.containerPort}/{(p.protocol ?? "TCP").toLowerCase()}
          {p.name && ` (${p.name})`}
          {p.hostPort && ` on host ${p.hostPort}`} {(p.protocol ?? "TCP") === "TCP" && <ForwardButton pod={pod} port={p.containerPort} http={!p.name || /http|web/.test(p.name)} />}
        </div>
      ))}
    </Fact>
  );
}

interface ProbesProps {
  pod: Pod;
  container: Container;
  status: ContainerStatus | undefined;
}

function Probes({ pod, container: c, status }: ProbesProps) {
  const there = (["startup", "readiness", "liveness"] as const).filter((kind) => c[`${kind}Probe`]);
  if (there.length === 0) return null;
  const from = Date.parse(status?.state?.running?.startedAt ?? "");
  return (
    <Fact name="Probes">
      {there.map((kind) => {
        const spec = c[`${kind}Probe`] as Record<string, Record<string, unknown>>;
        const strip = Number.isNaN(from) ? null : probeStrip(events.value, { uid: pod.uid!, container: c.name, kind, from, to: Math.max(now.value, from + 1000), period: Number(spec["periodSeconds"] ?? 10) });
        return (
          <div class="probe">
            <p>
              {kind} <span class="muted">{probeWords(spec)}</span>
            </p>
            {strip && <Strip strip={strip} name={kind} started={from} />}
          </div>
        );
      })}
    </Fact>
  );
}

/** Strip is when a probe has failed, over the time that the container runs. */
function Strip({ strip, name, started }: { strip: ProbeStrip; name: string; started: number }) {
  const words = strip.failing ? "fails" : strip.failures ? `failed ${strip.failures}×, not lately` : "has not failed";
  return (
    <>
      <svg class="probe-strip" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={`The ${name} probe ${words} since ${full(started)}`}>
        <rect class="probe-ok" width="1000" height="10" />
        {strip.parts.map((part) => (
          <rect class="probe-bad" x={part.from} width={part.to - part.from} height="10">
            <title>{`${part.count}×, last at ${full(part.at)}\n${part.message}`}</title>
          </rect>
        ))}
      </svg>
      <p class={strip.failing ? "probe-words bad" : "probe-words"}>
        {words} {strip.last && <span class="muted">{strip.last}</span>}
      </p>
    </>
  );
}

function probeWords(p: Record<string, Record<string, unknown>>): string {
  const every = `every ${p["periodSeconds"] ?? 10} s`;
  if (p["httpGet"]) return `GET ${p["httpGet"]["path"] ?? "/"} on port ${p["httpGet"]["port"]}, ${every}`;
  if (p["tcpSocket"]) return `connect to port ${p["tcpSocket"]["port"]}, ${every}`;
  if (p["grpc"]) return `gRPC health on port ${p["grpc"]["port"]}, ${every}`;
  return `${((p["exec"]?.["command"] as string[] | undefined) ?? []).join(" ")}, ${every}`;
}

/** Environment is hidden at first: values are often none of a bystander's business. */
function Environment({ env }: { env: EnvVar[] }) {
  const shown = useSignal(false);
  return (
    <Fact name="Environment">
      {!shown.value ? (
        <button type="button" class="link-button" onClick={() => (shown.value = true)}>
          Show {env.length} {env.length === 1 ? "variable" : "variables"}
        </button>
      ) : (
        <ul class="env">
          {env.map((e) => (
            <li>
              <code>
                {e.name}
                {e.value !== undefined && `=${e.value}`}
              </code>
              {e.valueFrom && <span class="muted"> {fromWords(e.valueFrom)}</span>}
            </li>
          ))}
        </ul>
      )}
    </Fact>
  );
}

function fromWords(from: Record<string, Record<string, unknown>>): string {
  const [kind, ref] = Object.entries(from)[0] ?? ["", {}];
  return `from ${kind.replace(/(Key|Field)?Ref$/, "")} ${[ref["name"], ref["key"] ?? ref["fieldPath"] ?? ref["resource"]].filter(Boolean).join(", ")}`;
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  return (
    <ul class="conditions">
      {conditions.map((c) => (
        <li>
          <HealthIcon health={c.status === "True" ? "ready" : c.reason === "PodCompleted" ? "done" : "starting"} />
          <span>
            {c.type} <span class="muted">{c.status === "True" ? "" : (c.reason ?? c.status)}</span>
            {c.message && <span class="condition-why">{c.message}</span>}
          </span>
          <time class="muted" title={c.lastTransitionTime && full(c.lastTransitionTime)}>
            {since(c.lastTransitionTime, now.value)}
          </time>
        </li>
      ))}
    </ul>
  );
}

function Volumes({ pod, volumes }: { pod: Pod; volumes: Volume[] }) {
  return (
    <ul class="conditions volumes">
      {volumes.map((v) => {
        const [kind, source] = Object.entries(v).find(([key]) => key !== "name") ?? ["", {}];
        const s = (source ?? {}) as Record<string, unknown>;
        const uses = volumeUses(v);
        const place = String(s["path"] ?? s["medium"] ?? s["reference"] ?? "");
        return (
          <li>
            <span>
              {v.name} <span class="muted">{kind}</span>{" "}
              {uses.map((use, i) => (
                <>
                  {i > 0 && ", "}
                  {session.value?.live ? <a href={hrefOf("objects", use.kind, pod.namespace!, use.name)}>{use.name}</a> : <code>{use.name}</code>}
                </>
              ))}
              {uses.length === 0 && place && <code class="breakable">{place}</code>}
              {typeof s["sizeLimit"] === "string" && <span class="muted"> at most {s["sizeLimit"]}</span>}
            </span>
            <span class="volume-users muted">{mountersOf(pod, v.name)}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** mountersOf is where a volume is mounted, where that is not everywhere. */
function mountersOf(pod: Pod, volume: string): string {
  const spec = objectOf(pod).spec ?? {};
  const names = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].filter((c) => c.volumeMounts?.some((m) => m.name === volume)).map((c) => c.name);
  return names.length ? `in ${names.join(", ")}` : "mounted nowhere";
}
