// What the node has told so far: its pods and events, kept up to date by watches.
import { computed, signal } from "@preact/signals";
import type { Event, GetNodeResponse, ListEventsResponse, ListPodsResponse, Pod, WatchEventsResponse, WatchPodsResponse } from "../api/gen";
import { ApiError, get } from "../api/request";
import { watch } from "../api/watch";
import { keyOf } from "../pure/health";
import { session } from "./session";

/** pods by namespace and name; a new Map for each change, at most one a frame. */
export const pods = signal<ReadonlyMap<string, Pod>>(new Map());
export const podList = computed(() => [...pods.value.values()]);
/** synced: the list is whole, so an empty one means that there are none. */
export const synced = signal(false);

const keptEvents = 1000;
export const events = signal<readonly Event[]>([]); // newest first

/** probes is what a probe has last said against each pod, by its uid. */
export const probes = computed(() => {
  const said = new Map<string, string>();
  for (const e of events.value) {
    if (e.reason === "Unhealthy" && e.uid && !said.has(e.uid)) said.set(e.uid, e.container ? `${e.container}: ${e.message}` : (e.message ?? ""));
  }
  return said;
});

export const node = signal<GetNodeResponse | null>(null);

export interface Link {
  state: "connecting" | "live" | "lost";
  since: number;
  problem: string;
}
export const link = signal<Link>({ state: "connecting", since: Date.now(), problem: "" });

function up(): void {
  if (link.value.state !== "live") link.value = { state: "live", since: Date.now(), problem: "" };
  void readNode();
}

function down(error: unknown): void {
  if (error instanceof ApiError && error.http === 401) return; // the node is there
  const problem = error instanceof Error ? error.message : String(error);
  const since = link.value.state === "lost" ? link.value.since : Date.now();
  link.value = { state: "lost", since, problem };
}

/** follow begins to follow the node; the result ends that. */
export function follow(): () => void {
  const stops = session.value?.live ? [watchPods(), watchEvents(), every(10_000, readNode)] : [every(3_000, readAll)];
  return () => stops.forEach((stop) => stop());
}

function watchPods(): () => void {
  let next = new Map(pods.value);
  let whole = true; // not in the middle of the first list
  const publish = onceAFrame(() => {
    if (whole) pods.value = new Map(next);
  });
  return watch<WatchPodsResponse>("/v1/pods:watch", {
    begin() {
      next = new Map();
      whole = false;
    },
    message({ type, pod }) {
      if (!pod) return;
      const known = next.get(keyOf(pod));
      if (type !== "WATCH_TYPE_DELETED") next.set(keyOf(pod), pod);
      else if (known?.uid === pod.uid) next.delete(keyOf(pod));
      publish();
    },
    synced() {
      whole = synced.value = true;
      publish();
    },
    up,
    down,
  });
}

/** idOf is what stays when the same thing happens again and only the count grows. */
const idOf = (e: Event) => `${e.uid}/${e.container}/${e.reason}/${e.firstTime}`;

function watchEvents(): () => void {
  let kept = new Map<string, Event>();
  const publish = onceAFrame(() => {
    const all = [...kept.values()].sort((a, b) => Number(b.revision) - Number(a.revision));
    if (all.length > keptEvents) kept = new Map(all.slice(0, keptEvents).map((e) => [idOf(e), e]));
    events.value = all.slice(0, keptEvents);
  });
  return watch<WatchEventsResponse & { type?: string }>("/v1/events:watch", {
    begin: () => kept.clear(),
    message({ event }) {
      if (event) kept.set(idOf(event), event);
      publish();
    },
    synced: publish,
    up() {},
    down() {}, // the other watch tells
  });
}

async function readNode(): Promise<void> {
  try {
    node.value = await get<GetNodeResponse>("/v1/node");
  } catch {
    // it stays as it was; that the node is away, a watch tells
  }
}

/** readAll is for the read-only port, which has no watches. */
async function readAll(): Promise<void> {
  try {
    const [list, told] = await Promise.all([get<ListPodsResponse>("/v1/pods"), get<ListEventsResponse>("/v1/events"), readNode()]);
    pods.value = new Map((list.pods ?? []).map((pod) => [keyOf(pod), pod]));
    events.value = (told.events ?? []).reverse().slice(0, keptEvents);
    synced.value = true;
    link.value = { state: "live", since: link.value.since, problem: "" };
  } catch (error) {
    down(error);
  }
}

function every(ms: number, what: () => Promise<void>): () => void {
  void what();
  const timer = setInterval(() => void what(), ms);
  return () => clearInterval(timer);
}

function onceAFrame(what: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    // A hidden page gets no frames, but should be right when it is looked at.
    const soon = document.hidden ? (run: () => void) => setTimeout(run, 250) : requestAnimationFrame;
    soon(() => {
      asked = false;
      what();
    });
  };
}
