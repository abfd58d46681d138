// One container of a pod: how it is, what it runs, and what it was given.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Pod, Pull } from "../api/gen";
import type { Container, ContainerStatus, EnvVar, State } from "../api/kube";
import type { Health } from "../pure/health";
import { pullWords } from "../pure/progress";
import { said } from "../pure/said";
import { age, full, since } from "../pure/time";
import { now } from "../state/clock";
import { hrefOf } from "../state/route";
import { session } from "../state/session";
import { ForwardButton } from "./commands";
import { Fact } from "./fact";
import { HealthIcon } from "./icons";
import { Probes } from "./probes";
import { Meter } from "./spark";

interface Props {
  pod: Pod;
  container: Container;
  status: ContainerStatus | undefined;
  pull: Pull | undefined; // of its image
  usage: ComponentChildren;
  init?: boolean;
}

export function ContainerBox({ pod, container: c, status, pull, usage, init }: Props) {
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
          {pull && (
            <div class="pull" role="status">
              <Meter aim part={Number(pull.bytes?.present ?? 0)} whole={Number(pull.bytes?.total ?? 0)} label={`Pulled of ${c.image}`} />
              {pullWords(pull)} {since(pull.beganAt ?? pull.askedAt, now.value)}
            </div>
          )}
        </Fact>
        {(c.command || c.args) && (
          <Fact name="Command">
            <code class="command">{[...(c.command ?? []), ...(c.args ?? [])].map(wordOf).join(" ")}</code>
          </Fact>
        )}
        {state?.waiting?.message && <Fact name="Waits because">{said(state.waiting.message)}</Fact>}
        {state?.terminated?.message && <Fact name="Last words">{said(state.terminated.message)}</Fact>}
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

/** wordOf quotes one word of a command; a script stays in its lines. */
const wordOf = (word: string) => (word.includes("\n") ? `\n${word.trimEnd()}` : /\s/.test(word) ? JSON.stringify(word) : word);

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
      {t.message && <pre class="last-words">{said(t.message)}</pre>}
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
