// Terminals of one pod, side by side as tabs.
import "@xterm/xterm/css/xterm.css";
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Pod } from "../api/gen";
import { ApiButton } from "../parts/commands";
import { Icon } from "../parts/icons";
import { objectOf, statusesOf } from "../pure/health";
import { closeTerminal, openTerminal, type Session, sessions } from "../state/terminals";
import { isDark } from "../state/theme";

export function TerminalTab({ pod }: { pod: Pod }) {
  const own = sessions.value.filter((s) => s.target.uid === pod.uid);
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
                {s.target.container}: {s.target.command.join(" ")}
                {s.state.value === "ended" && <span class="muted"> ended</span>}
              </button>
              <button type="button" class="quiet only-icon" aria-label={`Close the terminal in ${s.target.container}`} onClick={() => closeTerminal(s)}>
                <Icon name="close" />
              </button>
            </span>
          ))}
        </div>
      )}
      {current ? <Screen key={current.id} session={current} /> : <p class="nothing">No terminal is open. It runs until you close it, also while you look at other pages.</p>}
    </section>
  );
}

function Start({ pod, onOpen }: { pod: Pod; onOpen: (session: Session) => void }) {
  const names = (objectOf(pod).spec?.containers ?? []).map((c) => c.name);
  const running = new Set(statusesOf(pod).filter((c) => c.state?.running).map((c) => c.name));
  const container = useSignal(names.find((name) => running.has(name)) ?? names[0] ?? "");
  const command = useSignal("sh");
  const words = command.value.trim().split(/\s+/).filter(Boolean);
  const submit = (event: Event) => {
    event.preventDefault();
    onOpen(openTerminal({ namespace: pod.namespace!, name: pod.name!, uid: pod.uid!, container: container.value, command: words }));
  };
  const can = running.has(container.value) && words.length > 0;
  return (
    <form class="log-tools" onSubmit={submit}>
      <select aria-label="Container" value={container.value} onChange={(e) => (container.value = e.currentTarget.value)}>
        {names.map((name) => (
          <option value={name} disabled={!running.has(name)}>
            {name}
            {running.has(name) ? "" : " (does not run)"}
          </option>
        ))}
      </select>
      <input class="mono" aria-label="Command" spellcheck={false} value={command.value} onInput={(e) => (command.value = e.currentTarget.value)} />
      <button type="submit" class="primary" disabled={!can}>
        Open
      </button>
      <span class="grow" />
      <ApiButton
        call={{
          method: "POST",
          path: `/v1/namespaces/${pod.namespace}/pods/${pod.name}/containers/${container.value}:run`,
          rpc: "ExecService/Run",
          json: { command: words },
          message: { namespace: pod.namespace, name: pod.name, container: container.value, command: words },
          kubectl: `kubectl exec -it ${pod.name} -n ${pod.namespace} -c ${container.value} -- ${words.join(" ")}`,
        }}
      />
    </form>
  );
}

function Screen({ session }: { session: Session }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => session.show(box.current!), [session]);
  useSignalEffect(() => {
    isDark.value; // a dependency
    requestAnimationFrame(() => session.colour());
  });
  return (
    <>
      <div ref={box} class="terminal-box" />
      <p class="muted" role="status">
        {session.state.value === "opening" ? "Opening…" : session.end.value}
      </p>
    </>
  );
}
