// Logs: what is seen is drawn, what is not is not. Scrolling up stops the
// following, the end starts it again.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Pod } from "../api/gen";
import { ApiButton, CopyButton } from "../parts/commands";
import { Icon } from "../parts/icons";
import { seen } from "../parts/virtual";
import { ansi, pictures, strip } from "../pure/ansi";
import { objectOf } from "../pure/health";
import type { Line } from "../pure/ring";
import { bytes, clock, full } from "../pure/time";
import { LogReader, logPath } from "../state/logs";
import { place, setQuery } from "../state/route";

const rowHeight = 20;
const shownChars = 2000; // of a line in the list; the rest on a click

const spans: Array<[string, string]> = [
  ["", "Last 2,000 lines"],
  ["60", "Last minute"],
  ["600", "Last 10 minutes"],
  ["3600", "Last hour"],
  ["all", "From the beginning"],
];

export function LogsTab({ pod }: { pod: Pod }) {
  const spec = objectOf(pod).spec ?? {};
  const names = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map((c) => c.name);
  const query = place.value.query;
  const asked = (query.get("c") ?? "").split(",").filter((name) => names.includes(name));
  const chosen = asked.length ? asked : (spec.containers ?? []).slice(0, 1).map((c) => c.name);
  const previous = query.get("previous") === "1";
  const span = query.get("since") ?? "";
  const reader = useMemo(
    () =>
      new LogReader({
        namespace: pod.namespace!,
        name: pod.name!,
        containers: chosen,
        previous,
        over: pod.phase === "POD_PHASE_SUCCEEDED" || pod.phase === "POD_PHASE_FAILED",
        tail: span === "" ? 2000 : 0,
        sinceSeconds: Number(span) || 0,
      }),
    [pod.uid, chosen.join(","), previous, span],
  );
  useEffect(() => () => reader.stop(), [reader]);
  const toggle = (name: string) => {
    const next = chosen.includes(name) ? chosen.filter((c) => c !== name) : [...names].filter((c) => c === name || chosen.includes(c));
    setQuery("c", next.join(","));
  };
  return (
    <section class="logs">
      <div class="log-tools">
        <div class="chips" role="group" aria-label="Containers">
          {names.map((name) => (
            <button type="button" class={`chip s${chosen.indexOf(name)}`} aria-pressed={chosen.includes(name)} onClick={() => toggle(name)}>
              {name}
            </button>
          ))}
        </div>
        <select aria-label="How far back" value={span} onChange={(e) => setQuery("since", e.currentTarget.value)}>
          {spans.map(([id, words]) => (
            <option value={id}>{words}</option>
          ))}
        </select>
        <button type="button" class="chip" aria-pressed={previous} title="The run before the present one" onClick={() => setQuery("previous", previous ? "" : "1")}>
          Previous run
        </button>
        <span class="grow" />
        <ApiButton
          call={{
            method: "GET",
            path: logPath(pod.namespace!, pod.name!, chosen[0] ?? "", new URLSearchParams(previous ? { previous: "true" } : { follow: "true" })),
            rpc: "LogsService/ReadLogs",
            message: { namespace: pod.namespace, name: pod.name, container: chosen[0], ...(previous ? { previous: true } : { follow: true }) },
            kubectl: `kubectl logs ${pod.name} -n ${pod.namespace} -c ${chosen[0]} ${previous ? "--previous" : "--follow"}`,
            stream: true,
          }}
        />
        <a
          class="button quiet"
          download={`${pod.name}-${chosen[0]}.log`}
          href={logPath(pod.namespace!, pod.name!, chosen[0] ?? "", new URLSearchParams(previous ? { previous: "true" } : {}))}
          title="The whole log of the first chosen container"
        >
          <Icon name="down" /> Download
        </a>
      </div>
      <LogView key={`${pod.uid} ${chosen.join()} ${previous} ${span}`} reader={reader} names={chosen} />
    </section>
  );
}

function LogView({ reader, names }: { reader: LogReader; names: string[] }) {
  const box = useRef<HTMLDivElement>(null);
  const following = useSignal(true);
  const top = useSignal(0);
  const height = useSignal(600);
  const text = useSignal("");
  const opened = useSignal<Line | null>(null);
  const hits = useComputed(() => {
    reader.version.value;
    const words = text.value.toLowerCase();
    return words ? [...reader.ring.lines()].filter((line) => strip(line.text).toLowerCase().includes(words)) : null;
  });
  const count = useComputed(() => (reader.version.value, hits.value?.length ?? reader.ring.length));
  useFollow(box, following, count, reader);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => (height.value = entry!.contentRect.height));
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  const onScroll = () => {
    const b = box.current!;
    // Away from the end is not enough: lines may have come since. Only who
    // scrolls up wants to stay.
    if (b.scrollHeight - b.scrollTop - b.clientHeight < rowHeight * 1.5) following.value = true;
    else if (b.scrollTop < top.value - 1) following.value = false;
    top.value = b.scrollTop;
  };
  const range = seen(top.value, height.value, rowHeight, count.value, 12);
  const rows: Line[] = [];
  for (let i = 0; i < range.count; i++) {
    const line = hits.value ? hits.value[range.first + i] : reader.ring.at(range.first + i);
    if (line) rows.push(line);
  }
  return (
    <>
      <div class="log-search">
        <label class="search">
          <Icon name="search" />
          <input type="search" aria-label="Search the log" placeholder="Search" value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} />
        </label>
        <span class="muted num">
          {hits.value ? `${hits.value.length.toLocaleString("en")} of ` : ""}
          {reader.ring.length.toLocaleString("en")} lines{reader.ring.dropped > 0 && `, ${reader.ring.dropped.toLocaleString("en")} older ones let go`}
        </span>
        <span class="grow" />
        <span class="muted" role="status">
          {reader.ended.value ? "The run is over" : following.value ? "Following" : "Paused by scrolling"}
        </span>
        {!following.value && (
          <button type="button" onClick={() => (following.value = true)}>
            <Icon name="down" /> To the end
          </button>
        )}
      </div>
      {[...reader.problems.value].map(([container, problem]) => (
        <p class="log-problem" role="status">
          {container}: {problem}
        </p>
      ))}
      <div ref={box} class="log-box" tabIndex={0} role="log" aria-label="Log" aria-live="off" onScroll={onScroll}>
        <div class="log-all" style={{ height: `${count.value * rowHeight}px` }}>
          <div class="log-seen" style={{ transform: `translateY(${range.first * rowHeight}px)` }}>
            {rows.map((line) => (
              <Row key={line.id} line={line} name={names.length > 1 ? names[line.source]! : ""} words={text.value} opened={opened} />
            ))}
          </div>
        </div>
        {count.value === 0 && <p class="nothing">{text.value ? "No line has that." : reader.ended.value ? "The log is empty." : "Nothing was printed yet."}</p>}
      </div>
      {opened.value && <LineDetail line={opened.value} onClose={() => (opened.value = null)} />}
    </>
  );
}

/** useFollow keeps the end in sight while lines come, and the place otherwise, even as old lines go. */
function useFollow(box: { current: HTMLDivElement | null }, following: { value: boolean }, count: { value: number }, reader: LogReader) {
  const dropped = useRef(0);
  useSignalEffect(() => {
    count.value; // a dependency
    const follow = following.value;
    const gone = reader.ring.dropped - dropped.current;
    dropped.current = reader.ring.dropped;
    requestAnimationFrame(() => {
      const b = box.current;
      if (!b) return;
      if (follow) b.scrollTop = b.scrollHeight;
      else if (gone > 0) b.scrollTop -= gone * rowHeight;
    });
  });
}

const levels: Array<[RegExp, string]> = [
  [/\b(ERROR|ERR|FATAL|PANIC|CRITICAL|level=(error|fatal)|"level":"(error|fatal)")\b/i, "l-error"],
  [/\b(WARN|WARNING|level=warn(ing)?|"level":"warn(ing)?")\b/i, "l-warn"],
  [/\b(DEBUG|TRACE|level=(debug|trace))\b/i, "l-debug"],
];

const levelOf = (text: string) => levels.find(([pattern]) => pattern.test(text.slice(0, 160)))?.[1] ?? "";

interface RowProps {
  line: Line;
  name: string;
  words: string;
  opened: { value: Line | null };
}

function Row({ line, name, words, opened }: RowProps) {
  const long = line.text.length > shownChars;
  const runs = ansi(long ? line.text.slice(0, shownChars) : line.text);
  return (
    <div class={`log-row ${levelOf(runs.map((run) => run.text).join(""))}`} onClick={() => !getSelection()?.toString() && (opened.value = line)}>
      <time title={line.time && full(line.time)}>{line.time && clock(line.time)}</time>
      {name && <span class={`log-source s${line.source}`}>{name}</span>}
      <span class="log-text">
        {runs.map((run) => (
          <span class={run.classes}>{marked(run.text, words)}</span>
        ))}
        {long && <span class="log-more"> … {bytes(line.text.length + line.cut - shownChars)} more</span>}
      </span>
    </div>
  );
}

function marked(text: string, words: string) {
  if (!words) return text;
  const parts = [];
  const low = text.toLowerCase();
  let at = 0;
  for (let i = low.indexOf(words.toLowerCase()); i >= 0; i = low.indexOf(words.toLowerCase(), at)) {
    parts.push(text.slice(at, i), <mark>{text.slice(i, i + words.length)}</mark>);
    at = i + words.length;
  }
  return at ? [...parts, text.slice(at)] : text;
}

function LineDetail({ line, onClose }: { line: Line; onClose: () => void }) {
  return (
    <aside class="line-detail" aria-label="The whole line">
      <header>
        <span class="mono">{line.time && full(line.time)}</span>
        <span class="grow" />
        <CopyButton text={line.text} />
        <button type="button" class="quiet only-icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <pre tabIndex={0}>{pretty(line.text)}</pre>
      {line.cut > 0 && <p class="hint">{bytes(line.cut)} more are not kept here; the download has the whole line.</p>}
    </aside>
  );
}

/** pretty lays JSON out, and shows anything else as it is. */
function pretty(text: string): string {
  if (/^\s*[{[]/.test(text)) {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // then it only looks like it
    }
  }
  return pictures(text);
}
