// The logs of several pods as one, sorted by time. The address holds which, and what is sought in them.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { ApiButton } from "../parts/commands";
import { Icon } from "../parts/icons";
import { sourceClass } from "../parts/log_row";
import { Waiting } from "../parts/waiting";
import { hasEnded } from "../pure/ended";
import { keyOf } from "../pure/health";
import { mostSources, podsFor, sourcesOf } from "../pure/many_logs";
import { podList, pods, synced } from "../state/live";
import { LogReader } from "../state/logs";
import { hrefOf, place, setQuery } from "../state/route";
import { LogView, spans } from "./logs";

export function LogsPage() {
  const query = place.value.query;
  const asked = query.get("pods") ?? "";
  const since = query.get("since") ?? "";
  const stamp = query.get("at") ?? "";
  const at = Number.isNaN(Date.parse(stamp)) ? "" : stamp;
  const found = podsFor(asked, podList.value);
  const all = sourcesOf(found);
  const sources = all.slice(0, mostSources);
  const key = sources.map((s) => `${s.uid} ${s.container}`).join();
  const latest = useRef(sources);
  latest.current = sources;
  const reader = useMemo(() => readerOf(latest, since, at), [key, since, at]);
  useEffect(() => () => reader.stop(), [reader]);
  if (!synced.value) return <Waiting />;
  return (
    <div class="page pod-page">
      <div class="page-head">
        <h1>Logs</h1>
        <p class="sub">
          {found.length === 1 ? "1 pod" : `${found.length} pods`}, {all.length > sources.length ? `the first ${sources.length} of ${all.length} containers` : all.length === 1 ? "1 container" : `${all.length} containers`}
        </p>
        <div class="page-tools">
          <label class="search">
            <Icon name="search" />
            <input type="search" aria-label="Which pods" placeholder="Pods: name, label, image; others behind a comma" value={asked} onInput={(e) => setQuery("pods", e.currentTarget.value)} />
          </label>
          <select aria-label="How far back" value={since} onChange={(e) => setQuery("since", e.currentTarget.value)}>
            {spans.map(([id, words]) => (
              <option value={id}>{words}</option>
            ))}
          </select>
          {sources.length > 0 && <ApiButton call={sources.map((s) => reader.call(s.label))} />}
        </div>
      </div>
      <section class="logs">
        <ul class="chips log-sources">
          {sources.map((s, i) => (
            <li>
              <a class={`chip ${sourceClass(i)}`} href={`${hrefOf("pods", s.namespace, s.name, "logs")}?c=${encodeURIComponent(s.container)}`}>
                {s.label}
              </a>
            </li>
          ))}
        </ul>
        {sources.length === 0 ? <p class="nothing">{asked ? "No pod matches." : "Which pods? Their logs are shown as one, sorted by time."}</p> : <LogView key={`${key} ${since} ${at}`} reader={reader} names={sources.map((s) => s.label)} at={at} />}
      </section>
    </div>
  );
}

/** readerOf reads the logs by their labels. A container has ended when its pod's status says so, or without its pod. */
function readerOf(latest: { current: ReturnType<typeof sourcesOf> }, since: string, at: string): LogReader {
  const sources = latest.current;
  const sourceOf = (label: string) => sources.find((s) => s.label === label)!;
  return new LogReader({
    namespace: "",
    name: "",
    containers: sources.map((s) => s.label),
    sourceOf,
    previous: false,
    hasEnded(label) {
      const { uid, container, ...named } = sourceOf(label);
      const pod = pods.value.get(keyOf(named));
      return pod?.uid !== uid || hasEnded(pod, container);
    },
    tail: since || at ? 0 : Math.max(100, Math.floor(2000 / Math.max(1, sources.length))),
    sinceSeconds: Number(since) || 0,
    at,
  });
}
