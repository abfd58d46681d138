// Terminals of one pod, side by side as tabs. Terminals of earlier pods of this name have ended,
// and still show their last output.
import "@xterm/xterm/css/xterm.css";
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Pod } from "../api/gen";
import { ApiButton } from "../parts/commands";
import { Debug } from "../parts/debug";
import { Icon } from "../parts/icons";
import { attach, runCommand } from "../pure/calls";
import { containersOf } from "../pure/containers";
import { keyOf, objectOf } from "../pure/health";
import { said } from "../pure/said";
import { words as wordsOf } from "../pure/shell";
import { canWrite } from "../state/session";
import { closeTerminal, openTerminal, type Session, sessions } from "../state/terminals";
import { isDark } from "../state/theme";

export function TerminalTab({ pod }: { pod: Pod }) {
  const own = sessions.value.filter((s) => keyOf(s.target) === keyOf(pod));
  const shown = useSignal<Session | null>(own.at(-1) ?? null);
  const current = own.find((s) => s === shown.value) ?? own.at(-1) ?? null;
  return (
    <section class="terminals">
      <Start pod={pod} onOpen={(session) => (shown.value = session)} />
      {own.length > 0 && (
        <div class="terminal-tabs" role="group" aria-label="Terminals">
          {own.map((s) => (
            <span class={s === current ? "terminal-tab on" : "terminal-tab"}>
              <button type="button" class="quiet" aria-pressed={s === current} onClick={() => (shown.value = s)}>
                {s.target.container}: {s.target.command.join(" ") || "attached"}
                {s.state.value === "ended" && <span class="muted"> ended</span>}
              </button>
              <button type="button" class="quiet only-icon" aria-label={`Close the terminal in ${s.target.container}`} onClick={() => closeTerminal(s)}>
                <Icon name="close" />
              </button>
            </span>
          ))}
        </div>
      )}
      {current ? <Screen key={current.id} session={current} /> : <p class="nothing">No terminal is open. A terminal runs until you close it, even while you visit other pages.</p>}
    </section>
  );
}

function Start({ pod, onOpen }: { pod: Pod; onOpen: (session: Session) => void }) {
  const all = containersOf(objectOf(pod));
  const running = new Set(all.filter((c) => c.status?.state?.running).map((c) => c.name));
  const containers = all.filter((c) => c.kind !== "init" || running.has(c.name));
  const apps = containers.filter((c) => c.kind === "app");
  const container = useSignal((apps.find((c) => running.has(c.name)) ?? apps[0])?.name ?? "");
  const attaches = useSignal(false);
  const command = useSignal("sh");
  const debugs = useSignal(false);
  const words = wordsOf(command.value);
  const spec = containers.find((c) => c.name === container.value)?.spec;
  const target = { namespace: pod.namespace!, name: pod.name!, uid: pod.uid!, container: container.value };
  const open = (event: Event) => {
    event.preventDefault();
    onOpen(openTerminal(attaches.value ? { ...target, command: [], stdin: spec?.stdin ?? false, tty: spec?.tty ?? false } : { ...target, command: words, stdin: true, tty: true }));
  };
  const can = running.has(container.value) && (attaches.value || words.length > 0);
  return (
    <>
      <form class="log-tools" onSubmit={open}>
        <select aria-label="Container" value={container.value} onChange={(e) => (container.value = e.currentTarget.value)}>
          {containers.map(({ name }) => (
            <option value={name} disabled={!running.has(name)}>
              {name}
              {running.has(name) ? "" : " (not running)"}
            </option>
          ))}
        </select>
        <div class="segments" role="group" aria-label="What to open">
          <button type="button" aria-pressed={!attaches.value} onClick={() => (attaches.value = false)}>
            Run
          </button>
          <button type="button" aria-pressed={attaches.value} title="Attach to the container's main process" onClick={() => (attaches.value = true)}>
            Attach
          </button>
        </div>
        {attaches.value ? (
          <span class="muted">{spec?.stdin ? "Your input goes to the main process." : "Its output from now on; it takes no input (stdin is not set)."}</span>
        ) : (
          <input class="mono" aria-label="Command" spellcheck={false} value={command.value} onInput={(e) => (command.value = e.currentTarget.value)} />
        )}
        {canWrite.value && running.has(container.value) && (
          <button type="button" title="Start a container with a shell beside this one" onClick={() => (debugs.value = true)}>
            Debug…
          </button>
        )}
        {running.size === 0 && <span class="muted">None of its containers runs. Their logs, and the pod's record, say why.</span>}
        <button type="submit" class="primary" disabled={!can}>
          {attaches.value ? "Attach" : "Open"}
        </button>
        <span class="grow" />
        <ApiButton call={attaches.value ? attach(pod, container.value, spec ?? {}) : runCommand(pod, container.value, words)} />
      </form>
      {debugs.value && <Debug pod={pod} target={container.value} onOpen={onOpen} onClose={() => (debugs.value = false)} />}
    </>
  );
}

function Screen({ session }: { session: Session }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => session.show(box.current!), [session]);
  useSignalEffect(() => {
    isDark.value; // read as a dependency
    requestAnimationFrame(() => session.colour());
  });
  return (
    <>
      <div ref={box} class="terminal-box" />
      <p class="muted breakable" role="status">
        {session.state.value === "opening" ? "Opening…" : said(session.end.value)}
      </p>
    </>
  );
}
