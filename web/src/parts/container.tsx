// One container of a pod: its state, its image and command, and its configuration.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Pod, Pull } from "../api/gen";
import type { Container, State } from "../api/kube";
import { lasts, type PodContainer } from "../pure/containers";
import type { Health } from "../pure/health";
import { pullWords } from "../pure/progress";
import { said } from "../pure/said";
import { age, full, since } from "../pure/time";
import { now } from "../state/clock";
import { hrefOf } from "../state/route";
import { canExec, session } from "../state/session";
import { ForwardButton } from "./commands";
import { Environment } from "./environment";
import { Fact } from "./fact";
import { HealthIcon } from "./icons";
import { OpenButton } from "./open_port";
import { Probes } from "./probes";
import { Meter } from "./spark";

interface Props {
  pod: Pod;
  container: PodContainer;
  pull: Pull | undefined; // the pull of its image
  usage: ComponentChildren;
}

export function ContainerBox({ pod, container, pull, usage }: Props) {
  const { kind, spec: c, status } = container;
  const state = status?.state;
  const ready = (status?.ready ?? false) || !lasts(container); // a pod's readiness does not depend on the others
  return (
    <article class="container">
      <header>
        <HealthIcon health={healthOfState(state, ready)} />
        <h3>{c.name}</h3>
        {kind !== "app" && <span class="tag">{kind}</span>}
        <span class="container-state">{stateWords(state, ready, now.value)}</span>
        {session.value?.live && (
          <a href={`${hrefOf("pods", pod.namespace!, pod.name!, "logs")}?c=${encodeURIComponent(c.name)}`}>Logs</a>
        )}
      </header>
      <dl class="facts wide">
        <Fact name="Image">
          <span class="breakable mono">{c.image}</span>
          {pull && (
            <div class="pull">
              <Meter aim part={Number(pull.bytes?.present ?? 0)} whole={Number(pull.bytes?.total ?? 0)} label={`Pulled of ${c.image}`} />
              {pullWords(pull)} {since(pull.beganAt ?? pull.askedAt, now.value)}
            </div>
          )}
        </Fact>
        {(c.command || c.args) && <Command words={[...(c.command ?? []), ...(c.args ?? [])]} />}
        {state?.waiting?.message && <Fact name="Waits because">{said(state.waiting.message)}</Fact>}
        {state?.terminated?.message && <Fact name="Last words">{said(state.terminated.message)}</Fact>}
        {(status?.restartCount ?? 0) > 0 && (
          <Fact name="Restarts">
            {status!.restartCount}
            <LastRun state={status!.lastState} /> <a href={`${hrefOf("pods", pod.namespace!, pod.name!, "record")}?why=${encodeURIComponent(c.name)}`}>Why did it restart?</a>
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
        <Environment container={c} />
      </dl>
      {usage}
    </article>
  );
}

/** wordOf quotes one word of a command; a script keeps its lines. */
const wordOf = (word: string) => (word.includes("\n") ? `\n${word.trimEnd()}` : /\s/.test(word) ? JSON.stringify(word) : word);

/** Command shows the first lines only: a long script would push everything else away. */
function Command({ words }: { words: readonly string[] }) {
  const whole = useSignal(false);
  const text = words.map(wordOf).join(" ");
  const lines = text.split("\n").length;
  const long = lines > 3 || text.length > 400;
  return (
    <Fact name="Command">
      <code class={long && !whole.value ? "command folded" : "command"}>{text}</code>
      {long && (
        <button type="button" class="link-button" aria-expanded={whole.value} onClick={() => (whole.value = !whole.value)}>
          {whole.value ? "Show less" : lines > 3 ? `Show all ${lines} lines` : "Show all"}
        </button>
      )}
    </Fact>
  );
}

function healthOfState(state: State | undefined, ready: boolean): Health {
  if (state?.terminated) return state.terminated.exitCode === 0 ? "done" : "failed";
  if (state?.running) return ready ? "ready" : "starting";
  const reason = state?.waiting?.reason ?? "";
  return ["", "ContainerCreating", "PodInitializing"].includes(reason) ? "starting" : "failing";
}

function stateWords(state: State | undefined, ready: boolean, at: number): string {
  if (state?.running) return `${ready ? "running for" : "running, not ready,"} ${since(state.running.startedAt, at)}`;
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

/** mayBeHttp takes a port without a name for one that browsers can show. */
const mayBeHttp = (name: string | undefined) => !name || /http|web|ui|admin|metrics|dashboard/.test(name);

function Ports({ pod, ports }: { pod: Pod; ports: NonNullable<Container["ports"]> }) {
  return (
    <Fact name="Ports">
      {ports.map((p) => (
        <div class="port">
          {p.containerPort}/{(p.protocol ?? "TCP").toLowerCase()}
          {p.name && ` (${p.name})`}
          {p.hostPort && ` on host ${p.hostPort}`}{" "}
          {(p.protocol ?? "TCP") === "TCP" && (
            <>
              {canExec.value && mayBeHttp(p.name) && <OpenButton pod={pod} port={p.containerPort} scheme={/https|tls|ssl/.test(p.name ?? "") || /443$/.test(String(p.containerPort)) ? "https" : "http"} />} <ForwardButton pod={pod} port={p.containerPort} http={mayBeHttp(p.name)} />
            </>
          )}
        </div>
      ))}
    </Fact>
  );
}
