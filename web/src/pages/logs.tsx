// Logs. Only visible lines are drawn. Scrolling up stops following, and the end starts it again.
import { type ReadonlySignal, type Signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Pod } from "../api/gen";
import { ApiButton } from "../parts/commands";
import { Icon } from "../parts/icons";
import { Downloads } from "../parts/log_downloads";
import { LineDetail } from "../parts/log_line";
import { LogRow, rowId, sourceClass } from "../parts/log_row";
import { Ruler } from "../parts/log_ruler";
import { useCursor } from "../parts/log_cursor";
import { seen } from "../parts/virtual";
import { containersOf, speaking } from "../pure/containers";
import { hasEnded } from "../pure/ended";
import { arounds, Finder, type Wish, wishOf } from "../pure/find_lines";
import { objectOf } from "../pure/health";
import { lookingWords, noLines } from "../pure/no_lines";
import type { Line } from "../pure/ring";
import { goneSince, type Listed, Rows, type Standing } from "../pure/rows";
import { seekOf } from "../pure/seek";
import { clock } from "../pure/time";
import { LogReader } from "../state/logs";
import { go, place, setQuery, withQuery } from "../state/route";
import { wraps } from "../state/wrap";

const rowHeight = 20;

export const spans: Array<[string, string]> = [
  ["", "Last 2,000 lines"],
  ["60", "Last minute"],
  ["600", "Last 10 minutes"],
  ["3600", "Last hour"],
  ["all", "From the beginning"],
];

export function LogsTab({ pod }: { pod: Pod }) {
  const containers = containersOf(objectOf(pod));
  const names = containers.map((c) => c.name);
  const query = place.value.query;
  const asked = (query.get("c") ?? "").split(",").filter((name) => names.includes(name));
  const chosen = asked.length ? asked : speaking(containers).map((c) => c.name);
  const previous = query.get("previous") === "1";
  const stamp = query.get("at") ?? "";
  const at = Number.isNaN(Date.parse(stamp)) ? "" : stamp;
  const span = at ? "at" : (query.get("since") ?? "");
  const latest = useRef(pod);
  latest.current = pod;
  const reader = useMemo(
    () =>
      new LogReader({
        namespace: pod.namespace!,
        name: pod.name!,
        containers: chosen,
        previous,
        hasEnded: (container) => hasEnded(latest.current, container),
        tail: span === "" ? 2000 : 0,
        sinceSeconds: Number(span) || 0,
        at,
      }),
    [pod.uid, chosen.join(","), previous, span, at],
  );
  useEffect(() => () => reader.stop(), [reader]);
  return (
    <section class="logs">
      <Tools pod={pod} names={names} chosen={chosen} span={span} reader={reader} />
      <LogView key={`${pod.uid} ${chosen.join()} ${previous} ${span} ${at}`} reader={reader} names={chosen} at={at} />
    </section>
  );
}

interface ToolsProps {
  pod: Pod;
  names: string[];
  chosen: string[];
  span: string;
  reader: LogReader;
}

/** Tools select what is read. The address holds all of it. */
function Tools({ pod, names, chosen, span, reader }: ToolsProps) {
  const { previous, at } = reader.wanted;
  const ranBefore = containersOf(objectOf(pod)).some((c) => chosen.includes(c.name) && (c.status?.restartCount ?? 0) > 0);
  const toggle = (name: string) => setQuery("c", names.filter((c) => (c === name) !== chosen.includes(c)).join(","));
  return (
    <div class="log-tools">
      <div class="chips" role="group" aria-label="Containers">
        {names.map((name) => (
          <button type="button" class={`chip ${chosen.includes(name) ? sourceClass(chosen.indexOf(name)) : ""}`} aria-pressed={chosen.includes(name)} onClick={() => toggle(name)}>
            {name}
          </button>
        ))}
      </div>
      <select aria-label="How far back" value={span} onChange={(e) => go(withQuery({ since: e.currentTarget.value, at: "" }), true)}>
        {at && <option value="at">Around {clock(at)}</option>}
        {spans.map(([id, words]) => (
          <option value={id}>{words}</option>
        ))}
      </select>
      <button type="button" class="chip" aria-pressed={previous} disabled={!previous && !ranBefore} title={ranBefore ? "The run before the present one" : "There is no previous run"} onClick={() => setQuery("previous", previous ? "" : "1")}>
        Previous run
      </button>
      <span class="grow" />
      <ApiButton call={chosen.map((name) => reader.call(name))} />
      <Downloads pod={pod} names={chosen} previous={previous} reader={reader} />
    </div>
  );
}

interface LogViewProps {
  reader: LogReader;
  names: string[];
  at: string;
}

export function LogView({ reader, names, at }: LogViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const following = useSignal(!at);
  const top = useSignal(0);
  const height = useSignal(600);
  const wish = useComputed(() => wishOf(place.value.query));
  const seek = useComputed(() => seekOf(wish.value.words));
  const opened = useSignal<Line | null>(null);
  const finder = useComputed(() => (wish.value.words || wish.value.level ? new Finder(reader.ring, wish.value) : null));
  const shown = useComputed(() => shownOf(reader, finder.value));
  const columns = useSignal(0);
  const measured = useComputed(() => new Rows(columns.value));
  const rows = useComputed(() => measured.value.look(shown.value));
  const width = useSignal(0);
  const { count } = shown.value;
  const target = useTarget(box, reader, at, rows);
  useFollow(box, following, rows);
  useSignalEffect(() => {
    if (!reader.held.value || at || !following.peek()) return;
    // A log from its beginning is not followed.
    following.value = false;
    box.current!.scrollTop = 0;
  });
  const { cursor, onKeyDown } = useCursor({ box, rowHeight, shown, rows, following, opened });
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => ({ height: height.value, width: width.value } = entry!.contentRect));
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  const onScroll = () => {
    const b = box.current!;
    // The distance to the end may come from new lines. Only an upward scroll means that the user
    // wants to stay.
    if (b.scrollHeight - b.scrollTop - b.clientHeight < rowHeight * 1.5) following.value = true;
    else if (b.scrollTop < top.value - 1) following.value = false;
    top.value = b.scrollTop;
  };
  const part = seen(top.value, height.value, rowHeight, rows.value.all, 12);
  const first = rows.value.at(part.first);
  const last = Math.min(count, rows.value.at(part.first + part.count) + 1);
  const lines = Array.from({ length: Math.max(0, last - first) }, (_, i) => shown.value.at(first + i)).filter((line) => line !== undefined);
  const isEnd = columns.value > 0 && last === count;
  const close = () => {
    opened.value = null;
    box.current?.focus();
  };
  return (
    <>
      <Search reader={reader} wish={wish.value} problem={seek.value.problem} hits={finder.value?.matched ?? null} following={following} at={at} />
      {[...reader.problems.value].map(([container, problem]) => (
        <p class="log-problem" role="status">
          {container}: {problem}
        </p>
      ))}
      <div
        ref={box}
        class={`log-box${columns.value ? " wrap" : ""}${columns.value && lines.length === count ? " whole" : ""}`}
        tabIndex={0}
        role="listbox"
        aria-label="Log"
        aria-activedescendant={lines.some((line) => line.id === cursor.value) ? rowId(cursor.value) : undefined}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        <Ruler named={names.length > 1} wraps={wraps.value} width={width.value} onColumns={(n) => (columns.value = n)} />
        <div class="log-all" style={{ height: `${rows.value.all * rowHeight}px` }}>
          {/* Characters may be wider than thought, so the last lines stand on the end. */}
          <div class={isEnd ? "log-seen end" : "log-seen"} style={{ transform: isEnd ? "none" : `translateY(${rows.value.top(first) * rowHeight}px)` }}>
            {lines.map((line) => (
              <LogRow key={line.id} line={line} beside={finder.value?.beside.has(line.id) ?? false} name={names.length > 1 ? names[line.source]! : ""} seek={seek.value} target={line.id === target.value} cursor={line.id === cursor.value} opened={opened} />
            ))}
          </div>
        </div>
        {count === 0 && reader.problems.value.size === 0 && (
          <p class="nothing" role="presentation">
            {noLines({ looking: reader.looking.value, sought: finder.value !== null, ended: reader.ended.value })}
          </p>
        )}
      </div>
      {opened.value && <LineDetail line={opened.value} sought={finder.value !== null} onClose={close} />}
    </>
  );
}

/** shownOf returns the lines to draw: all, or the matches of the search. */
function shownOf({ ring, told }: LogReader, finder: Finder | null): Listed {
  const { lines, dropped } = told.value;
  if (!finder) return { of: ring, count: lines, gone: dropped, at: (index) => ring.at(index) };
  const hits = finder.look();
  return { of: finder, count: hits.length, gone: finder.gone, at: (index) => hits[index] };
}

interface SearchProps {
  reader: LogReader;
  wish: Wish;
  problem: string; // of the expression
  hits: number | null; // null: no search
  following: Signal<boolean>;
  at: string;
}

/** Search selects the lines to show. It says how many there are and whether more will come. */
function Search({ reader, wish, problem, hits, following, at }: SearchProps) {
  const { lines, dropped } = reader.told.value;
  const number = (n: number) => n.toLocaleString("en");
  return (
    <div class="log-search">
      <label class="search">
        <Icon name="search" />
        <input type="search" aria-label="Search the log" placeholder="Words, or /an expression/" aria-invalid={problem !== ""} value={wish.words} onInput={(e) => setQuery("q", e.currentTarget.value)} />
      </label>
      <select aria-label="Level" value={wish.level} onChange={(e) => setQuery("level", e.currentTarget.value)}>
        <option value="">All levels</option>
        <option value="warn">Warnings and errors</option>
        <option value="error">Errors</option>
      </select>
      {hits !== null && (
        <select aria-label="Lines around" value={wish.around} onChange={(e) => setQuery("around", e.currentTarget.value.replace(/^0$/, ""))}>
          {arounds.map((n) => (
            <option value={n}>{n ? `${n} lines around` : "Matches only"}</option>
          ))}
        </select>
      )}
      <button type="button" class="chip" aria-pressed={wraps.value} title="Show long lines in several rows" onClick={() => (wraps.value = !wraps.value)}>
        Wrap
      </button>
      {problem && (
        <span class="field-problem" role="alert">
          no expression: {problem}
        </span>
      )}
      <span class="muted num">
        {hits !== null && `${number(hits)} of `}
        {number(lines)} lines{dropped > 0 && `, ${number(dropped)} older lines dropped`}
      </span>
      <span class="grow" />
      <span class="muted" role="status">
        {reader.looking.value && lines === 0 ? lookingWords : reader.held.value ? (at ? "Paused to keep the linked line" : "Paused: the log is larger than a page can show") : reader.ended.value ? "The run has ended" : following.value ? "Following" : at ? `Around ${clock(at)}` : "Paused by scrolling"}
      </span>
      {(!following.value || reader.held.value) && (
        <button type="button" onClick={() => (reader.held.value ? go(withQuery({ at: "", since: "" }), true) : (following.value = true))}>
          <Icon name="down" /> To the end
        </button>
      )}
    </div>
  );
}

/**
 * useFollow keeps the end visible while lines come. If the log is not followed, it keeps the
 * position, even as old lines go.
 */
function useFollow(box: { current: HTMLDivElement | null }, following: Signal<boolean>, rows: ReadonlySignal<Standing>) {
  const last = useRef<Standing | null>(null);
  useSignalEffect(() => {
    const just = goneSince(last.current, rows.value);
    last.current = rows.value;
    if (!following.value && just === 0) return;
    requestAnimationFrame(() => {
      const b = box.current;
      if (!b) return;
      // The user may have scrolled up just now.
      if (following.peek()) b.scrollTop = b.scrollHeight;
      else b.scrollTop -= just * rowHeight;
    });
  });
}

/** useTarget finds the line of the address and scrolls it into the upper part of the box. */
function useTarget(box: { current: HTMLDivElement | null }, reader: LogReader, at: string, rows: ReadonlySignal<Standing>) {
  const target = useSignal(-1);
  const late = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (late.value = true), 1500);
    return () => clearTimeout(timer);
  }, []);
  useSignalEffect(() => {
    if (!at || (reader.told.value.lines === 0 && !late.value) || target.peek() >= 0) return;
    // The line may be gone, or not loaded yet: after a while the nearest later one is taken.
    const exact = reader.ring.indexOf(at);
    const index = exact < 0 && late.value ? reader.ring.indexFrom(at) : exact;
    const line = index < 0 ? undefined : reader.ring.at(index);
    if (!line) return;
    target.value = line.id;
    requestAnimationFrame(() => requestAnimationFrame(() => box.current?.scrollTo(0, rows.value.top(index) * rowHeight - box.current.clientHeight / 3)));
  });
  return target;
}
