// All pods: those in trouble first with the reason, and keys for everything.
import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Pod } from "../api/gen";
import { ApiButton } from "../parts/commands";
import { HealthIcon, Icon } from "../parts/icons";
import { isCommand, isTyping, tabKeys } from "../parts/keys";
import { lazily } from "../parts/lazily";
import { Spacer, useScroll } from "../parts/virtual";
import { Waiting } from "../parts/waiting";
import { toggled } from "../pure/bulk";
import { watchPods } from "../pure/calls";
import { type Column, find, tally, wantedOf } from "../pure/find";
import { type Group, grouped, groupingOf, groupings, isGroup } from "../pure/group";
import { type Health, healthNames, healthOf, healths, keyOf, nameOf, readiness, reasonOf, whyOf } from "../pure/health";
import { cores } from "../pure/quantity";
import { bytes, full, since } from "../pure/time";
import { type Use, usesByPod } from "../pure/usage";
import { now, slow } from "../state/clock";
import { podList, probes, synced } from "../state/live";
import { go, hrefOf, place, setQuery } from "../state/route";
import { selected } from "../state/selected";
import { canWrite, session } from "../state/session";
import { useNodeUsage } from "../state/usage";

const ExportPods = lazily(() => import("../parts/export_pods").then((m) => m.ExportPods));
const Bulk = lazily(() => import("../parts/bulk").then((m) => m.Bulk));

const narrow = matchMedia("(max-width: 860px)"); // as in table.css, where rows have two lines
const heightOf = () => (narrow.matches ? 52 : 34);

/** useRowHeight follows the width of the window. */
function useRowHeight(): number {
  const height = useSignal(heightOf());
  useEffect(() => {
    const look = () => (height.value = heightOf());
    narrow.addEventListener("change", look);
    return () => narrow.removeEventListener("change", look);
  }, []);
  return height.value;
}

const columns: Array<{ id: Column; name: string; class: string }> = [
  { id: "health", name: "State", class: "c-why" },
  { id: "ready", name: "Ready", class: "c-num" },
  { id: "restarts", name: "Restarts", class: "c-num" },
  { id: "cpu", name: "CPU", class: "c-num c-use" },
  { id: "memory", name: "Memory", class: "c-num c-use" },
  { id: "age", name: "Age", class: "c-num" },
  { id: "ip", name: "IP", class: "c-ip" },
  { id: "source", name: "Source", class: "c-source" },
];

export function PodsPage() {
  const query = place.value.query;
  const wanted = useComputed(() => wantedOf(place.value.query));
  const uses = usesByPod(useNodeUsage().latest?.pods ?? []);
  const shown = find(podList.value, wanted.value, uses, slow.value);
  const by = groupingOf(query);
  const counts = useComputed(() => tally(podList.value, slow.value));
  const search = useRef<HTMLInputElement>(null);
  useSearchEnd(search);
  return (
    <div class="page">
      <div class="page-head">
        <h1>Pods</h1>
        <div class="chips" role="group" aria-label="Filter by state">
          <Chip health="" count={podList.value.length} on={wanted.value.health === ""} />
          {healths
            .filter((h) => counts.value.get(h) || wanted.value.health === h)
            .map((h) => (
              <Chip health={h} count={counts.value.get(h) ?? 0} on={wanted.value.health === h} />
            ))}
        </div>
        <div class="page-tools">
          <label class="search">
            <Icon name="search" />
            <input
              ref={search}
              type="search"
              aria-label="Search pods"
              placeholder="Name, reason, label, image, IP"
              value={query.get("q") ?? ""}
              onInput={(e) => setQuery("q", e.currentTarget.value)}
            />
            <kbd>/</kbd>
          </label>
          {query.get("q") && !wanted.value.health && session.value?.live && (
            <a class="button" href={`${hrefOf("logs")}?pods=${encodeURIComponent(query.get("q")!)}`}>
              Logs
            </a>
          )}
          <select aria-label="Group" value={by} onChange={(e) => setQuery("group", e.currentTarget.value)}>
            <option value="">No groups</option>
            {Object.entries(groupings).map(([id, words]) => (
              <option value={id}>{words}</option>
            ))}
          </select>
          <ExportPods pods={shown} uses={uses} />
          <ApiButton call={watchPods()} />
          {canWrite.value && (
            <a class="button primary" href={hrefOf("apply")}>
              <Icon name="plus" /> Apply
            </a>
          )}
        </div>
      </div>
      {canWrite.value && <Bulk />}
      <PodTable pods={shown} rows={grouped(shown, by, slow.value)} uses={uses} all={podList.value.length} sort={wanted.value.sort} down={wanted.value.down} />
    </div>
  );
}

function Chip({ health, count, on }: { health: Health | ""; count: number; on: boolean }) {
  return (
    <button type="button" class="chip" aria-pressed={on} onClick={() => setQuery("state", on ? "" : health)}>
      {health && <HealthIcon health={health} />}
      {health ? healthNames[health] : "All"} <b>{count}</b>
    </button>
  );
}

/** useSearchEnd makes Escape empty the search field and leave it. */
function useSearchEnd(search: { current: HTMLInputElement | null }) {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.target !== search.current) return;
      setQuery("q", "");
      search.current?.blur();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
}

interface PodTableProps {
  pods: Pod[];
  /** The pods, and the heads of their groups. */
  rows: Array<Pod | Group>;
  uses: ReadonlyMap<string, Use>;
  all: number;
  sort: Column;
  down: boolean;
}

function PodTable({ pods, rows, uses, all, sort, down }: PodTableProps) {
  const rowHeight = useRowHeight();
  const { body, range } = useScroll<HTMLDivElement>(rowHeight, rows.length);
  const cursor = useSignal(-1);
  useRowKeys(rows, cursor, body);
  const sorted = (id: Column) => (sort === id ? (down ? "descending" : "ascending") : "none");
  const order = (id: Column) => {
    if (sort === id) setQuery("down", down ? "" : "1");
    else {
      setQuery("down", "");
      setQuery("sort", id === "health" ? "" : id);
    }
  };
  const end = range.first + range.count;
  return (
    <div class="table" role="table" aria-label="Pods" aria-rowcount={rows.length + 1}>
      <div class="row head" role="row">
        <HeadCell id="name" name="Pod" class="c-name" sorted={sorted("name")} order={order}>
          {canWrite.value && <Choose name="Select all pods of the list" pods={pods} />}
        </HeadCell>
        {columns.map((c) => (
          <HeadCell {...c} sorted={sorted(c.id)} order={order} />
        ))}
      </div>
      <div ref={body} role="rowgroup">
        <Spacer rows={Math.min(range.first, rows.length)} rowHeight={rowHeight} />
        {rows.slice(range.first, end).map((row, i) =>
          isGroup(row) ? <GroupRow key={row.name} group={row} index={range.first + i} /> : <PodRow key={keyOf(row)} pod={row} use={uses.get(row.uid ?? "")} index={range.first + i} />,
        )}
        <Spacer rows={Math.max(0, rows.length - end)} rowHeight={rowHeight} />
      </div>
      {pods.length === 0 && <Nothing all={all} />}
    </div>
  );
}

interface HeadCellProps {
  id: Column;
  name: string;
  class: string;
  sorted: "none" | "ascending" | "descending";
  order: (id: Column) => void;
  children?: ComponentChildren;
}

function HeadCell(props: HeadCellProps) {
  return (
    <div role="columnheader" class={props.class} aria-sort={props.sorted}>
      {props.children}
      <button type="button" onClick={() => props.order(props.id)}>
        {props.name}
        <span class="sort" aria-hidden="true">
          {props.sorted === "none" ? "" : props.sorted === "ascending" ? "↑" : "↓"}
        </span>
      </button>
    </div>
  );
}

/** Choose is a box that is checked while all of its pods are selected. */
function Choose({ name, pods }: { name: string; pods: readonly Pod[] }) {
  const all = pods.length > 0 && pods.every((pod) => selected.value.get(keyOf(pod)) === pod.uid);
  return <input type="checkbox" class="choose" aria-label={name} checked={all} onChange={() => (selected.value = toggled(selected.value, pods))} />;
}

function GroupRow({ group, index }: { group: Group; index: number }) {
  return (
    <div class="row group" role="row" aria-rowindex={index + 2}>
      <div role="cell" aria-colspan={columns.length + 1}>
        <b>{group.name}</b> <span class="muted">{group.count === 1 ? "1 pod" : `${group.count} pods`}</span>
        {group.troubled > 0 && <span class="short"> {group.troubled} in trouble</span>}
      </div>
    </div>
  );
}

function PodRow({ pod, use, index }: { pod: Pod; use: Use | undefined; index: number }) {
  const health = healthOf(pod, slow.value);
  const { ready, all } = readiness(pod);
  const why = whyOf(pod, probes.value.get(pod.uid ?? ""));
  return (
    <div class={`row pod ${health}`} role="row" aria-rowindex={index + 2} onClick={(e) => !(e.target as Element).closest("a,button,input") && !getSelection()?.toString() && go(hrefOf("pods", pod.namespace!, pod.name!))}>
      <div role="cell" class="c-name">
        {canWrite.value && <Choose name={`Select ${nameOf(pod)}`} pods={[pod]} />}
        <a href={hrefOf("pods", pod.namespace!, pod.name!)} title={nameOf(pod)} data-index={index}>
          {pod.namespace !== "default" && <span class="ns">{pod.namespace}/</span>}
          {pod.name}
        </a>
      </div>
      <div role="cell" class="c-why">
        <HealthIcon health={health} />
        <span class="reason">{reasonOf(pod)}</span>
        <span class="why" title={why}>{why}</span>
      </div>
      <div role="cell" class="c-num">
        <span class={ready < all && health !== "done" ? "short" : ""}>
          {ready}/{all}
        </span>
      </div>
      <div role="cell" class={pod.restarts ? "c-num some" : "c-num none"}>{pod.restarts ?? 0}</div>
      <div role="cell" class="c-num c-use">{use?.cores != null && cores(use.cores)}</div>
      <div role="cell" class="c-num c-use">{use?.memory != null && bytes(use.memory)}</div>
      <div role="cell" class="c-num" title={pod.acceptedAt && full(pod.acceptedAt)}>
        {since(pod.acceptedAt, now.value)}
      </div>
      <div role="cell" class="c-ip">{pod.podIps?.[0]}</div>
      <div role="cell" class="c-source">{pod.source}</div>
    </div>
  );
}

function Nothing({ all }: { all: number }) {
  if (!synced.value) return <Waiting />;
  if (all > 0) {
    return (
      <p class="nothing">
        None of {all} pods matches. <button type="button" class="link-button" onClick={() => go(hrefOf("pods"))}>Show all</button>
      </p>
    );
  }
  return (
    <p class="nothing">
      This node has no pods yet. {canWrite.value ? <a href={hrefOf("apply")}>Apply a manifest</a> : "They come from its API, a directory of manifests or a URL."}
    </p>
  );
}

/** useRowKeys moves the focus from pod to pod with arrows, j and k. Other keys open a tab of the focused pod. */
function useRowKeys(rows: Array<Pod | Group>, cursor: { value: number }, body: { current: HTMLDivElement | null }) {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (isCommand(event) || (isTyping(event) && (event.key.length === 1 || !target.matches("input")))) return;
      const focused = Number(target.dataset["index"] ?? -1);
      const tab = tabKeys[event.key];
      const row = rows[focused];
      const pod = row && !isGroup(row) ? row : undefined;
      if (event.key === "x" && pod && canWrite.value) selected.value = toggled(selected.value, [pod]);
      if (tab && pod) return go(hrefOf("pods", pod.namespace!, pod.name!, tab));
      const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
      if (!by || rows.length === 0) return;
      event.preventDefault();
      let next = (focused >= 0 ? focused : by > 0 ? -1 : rows.length) + by;
      const at = rows[next];
      if (at && isGroup(at)) next += by;
      if (!rows[next]) return;
      cursor.value = next;
      show(body.current, cursor.value);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [rows]);
}

/** show scrolls a row into view, which draws it, and then focuses it. */
function show(body: HTMLElement | null, index: number): void {
  if (!body) return;
  const rowHeight = heightOf();
  const top = body.getBoundingClientRect().top + index * rowHeight;
  const headed = 96; // height of the fixed head of the window
  if (top < headed) scrollBy(0, top - headed);
  else if (top + rowHeight > innerHeight) scrollBy(0, top + rowHeight - innerHeight + 8);
  const focus = () => body.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus({ preventScroll: true });
  focus();
  if (document.activeElement?.getAttribute("data-index") !== String(index)) requestAnimationFrame(() => requestAnimationFrame(focus));
}
