// The logs of the machine and of the agent, for admins.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ListNodeLogsResponse, NodeLog } from "../api/gen";
import { fetchOk, messageOf } from "../api/request";
import { listNodeLogs, readNodeLog } from "../pure/calls";
import { appended, optionOf } from "../pure/node_log";
import { Answer } from "./answer";
import { ApiButton } from "./commands";

const lines = 500; // the last ones of a log

export function NodeLogs() {
  return (
    <Answer<ListNodeLogsResponse> call={listNodeLogs()} waiting="Asking which logs there are…" faults={(answer) => answer.message ?? ""}>
      {(answer) => <Chosen logs={answer.logs ?? []} />}
    </Answer>
  );
}

/** Chosen shows one of the logs, as long as the section is open. */
function Chosen({ logs }: { logs: readonly NodeLog[] }) {
  const name = useSignal((logs.find((log) => !log.message) ?? logs[0])?.name ?? "");
  const pattern = useSignal("");
  const follow = useSignal(false);
  const log = logs.find((one) => one.name === name.value);
  // The node takes either of both with follow.
  const part = { tailLines: follow.value && pattern.value ? 0 : lines, pattern: pattern.value, follow: follow.value };
  return (
    <>
      <form class="node-log-asked" onSubmit={(e) => e.preventDefault()}>
        <label>
          Log{" "}
          <select value={name.value} onChange={(e) => (name.value = e.currentTarget.value)}>
            {logs.map((one) => (
              <option value={one.name}>{optionOf(one)}</option>
            ))}
          </select>
        </label>
        <label>
          Lines that match <input type="search" placeholder="error|warn" value={pattern.value} onChange={(e) => (pattern.value = e.currentTarget.value)} />
        </label>
        <label>
          <input type="checkbox" checked={follow.value} onChange={(e) => (follow.value = e.currentTarget.checked)} /> Follow
        </label>
        <ApiButton call={readNodeLog(name.value, part)} />
      </form>
      {log?.message ? <p class="muted">{log.message}</p> : <LogText key={JSON.stringify([name.value, part])} path={readNodeLog(name.value, part).path} />}
    </>
  );
}

/** LogText reads a log until it is taken away. */
function LogText({ path }: { path: string }) {
  const text = useSignal("");
  const state = useSignal("Reading…");
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const stopping = new AbortController();
    const read = async () => {
      const response = await fetchOk(path, { signal: stopping.signal });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text.value = appended(text.value, value);
      }
      state.value = text.value ? "" : "No lines.";
    };
    read().catch((error) => stopping.signal.aborted || (state.value = messageOf(error)));
    return () => stopping.abort();
  }, [path]);
  useEffect(() => box.current?.scrollTo(0, box.current.scrollHeight), [text.value]);
  return (
    <>
      {text.value && <pre class="node-log" ref={box} tabIndex={0} aria-label="Lines of the log">{text.value}</pre>}
      {state.value && <p class="muted" role="status">{state.value}</p>}
    </>
  );
}
