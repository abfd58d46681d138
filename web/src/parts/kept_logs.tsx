// The logs of deleted pods and removed runs. They are asked for when they are opened, as the garbage is.
import { useSignal } from "@preact/signals";
import type { ListLogsResponse, LogOfRun } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { listLogs, readRun } from "../pure/calls";
import { fileOf, keptOf, runOf, sizeWords } from "../pure/kept_logs";
import { bytes, since } from "../pure/time";
import { now } from "../state/clock";
import { session } from "../state/session";
import { ApiButton } from "./commands";
import { Waiting } from "./waiting";

export function KeptLogsSection() {
  const logs = useSignal<LogOfRun[] | null>(null);
  const problem = useSignal("");
  if (!session.value?.live) return null; // the read-only port has no logs
  const ask = async () => {
    const got = await perform<ListLogsResponse>(listLogs()).catch(messageOf);
    problem.value = typeof got === "string" ? got : "";
    if (typeof got !== "string") logs.value = keptOf(got.logs ?? []);
  };
  return (
    <section>
      <div class="section-head">
        <h2>Logs of deleted pods</h2>
        <ApiButton call={listLogs()} />
      </div>
      <details class="garbage" onToggle={(e) => void (e.currentTarget.open && ask())}>
        <summary>{logs.value ? sizeWords(logs.value) : "What the node keeps of them, and of earlier runs"}</summary>
        {problem.value && <p class="problem" role="alert">{problem.value}</p>}
        {logs.value ? <KeptTable logs={logs.value} /> : !problem.value && <Waiting words="Looking for logs…" />}
      </details>
    </section>
  );
}

function KeptTable({ logs }: { logs: readonly LogOfRun[] }) {
  if (logs.length === 0) return <p class="muted">The node keeps no logs now.</p>;
  return (
    <table class="garbage-list">
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">Last line</th>
          <th scope="col">Size</th>
          <th scope="col">Log</th>
        </tr>
      </thead>
      <tbody>
        {logs.map((log) => (
          <tr key={readRun(log).path} title={`uid ${log.uid}`}>
            <th scope="row">{runOf(log)}</th>
            <td>
              {since(log.writtenAt, now.value)} ago
              {log.deleted && <span class="muted"> · pod deleted</span>}
            </td>
            <td class="num">{bytes(Number(log.bytes ?? 0))}</td>
            <td>
              <a download={fileOf(log)} href={readRun(log).path} aria-label={`Download the log of ${runOf(log)}`}>
                Download
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
