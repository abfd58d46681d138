// The logs of deleted pods and removed runs.
import type { ListLogsResponse, LogOfRun } from "../api/gen";
import { whole } from "../api/through";
import { listLogs, readRun } from "../pure/calls";
import { fileOf, keptOf, runOf, sizeWords } from "../pure/kept_logs";
import { bytes, since } from "../pure/time";
import { now } from "../state/clock";
import { Answer } from "./answer";

export function KeptLogs() {
  return (
    <Answer<ListLogsResponse> call={listLogs()} waiting="Looking for logs…">
      {(answer) => <KeptTable logs={keptOf(answer.logs ?? [])} />}
    </Answer>
  );
}

function KeptTable({ logs }: { logs: readonly LogOfRun[] }) {
  if (logs.length === 0) return <p class="muted">The node keeps no logs now.</p>;
  return (
    <>
      <p class="muted">{sizeWords(logs)}</p>
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
                <a download={fileOf(log)} href={whole(readRun(log).path)} aria-label={`Download the log of ${runOf(log)}`}>
                  Download
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
