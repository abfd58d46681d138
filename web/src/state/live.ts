// The node, its pods and its events, kept up to date by watches.
import { computed, signal } from "@preact/signals";
import type { Event, GetNodeResponse, ListEventsResponse, ListPodsResponse, Pod, WatchEventsResponse, WatchNodeResponse, WatchPodsResponse } from "../api/gen";
import { ApiError, perform, silent } from "../api/request";
import * as calls from "../pure/calls";
import { keyOf } from "../pure/health";
import { follow, forgetWatch, noteLive, noteLost } from "./link";
import { keepSession, onLeaving, session } from "./session";

/** pods by namespace and name; a new Map for each change, at most one a frame. */
export const pods = signal<ReadonlyMap<string, Pod>>(new Map());
export const podList = computed(() => [...pods.value.values()]);
/** synced: the list is complete, so an empty one means that there are no pods. */
export const synced = signal(false);

const keptEvents = 1000;
export const events = signal<readonly Event[]>([]); // newest first

/** probes maps UIDs of pods to the last message of a failed probe. */
export const probes = computed(() => {
  const said = new Map<string, string>();
  for (const e of events.value) {
    if (e.reason === "Unhealthy" && e.uid && !said.has(e.uid)) said.set(e.uid, e.container ? `${e.container}: ${e.message}` : (e.message ?? ""));
  }
  return said;
});

export const node = signal<GetNodeResponse | null>(null);

onLeaving(() => {
  node.value = null;
  pods.value = new Map();
  events.value = [];
  synced.value = false;
});

/** keepUp starts all watches and returns a function that stops them. */
export function keepUp(): () => void {
  const stops = session.value?.live ? [watchNode(), watchPods(), watchEvents(), keepSession()] : [readAgain()];
  return () => stops.forEach((stop) => stop());
}

/** watchNode needs no resumption: each message is the whole node. */
function watchNode(): () => void {
  return follow<WatchNodeResponse>("the node itself", calls.watchNode(""), {
    message: (told) => (node.value = told.node ?? node.value),
  });
}

function watchPods(): () => void {
  let next = new Map(pods.value);
  let whole = true; // false during the first list
  const publish = onceAFrame(() => {
    if (whole) pods.value = new Map(next);
  });
  return follow<WatchPodsResponse>("pods", calls.watchPods(), {
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
  });
}

/** idOf returns the same ID when an event repeats and only its count grows. */
const idOf = (e: Event) => `${e.uid}/${e.container}/${e.reason}/${e.firstTime}`;

function watchEvents(): () => void {
  let kept = new Map<string, Event>();
  const publish = onceAFrame(() => {
    const all = [...kept.values()].sort((a, b) => Number(b.revision) - Number(a.revision));
    if (all.length > keptEvents) kept = new Map(all.slice(0, keptEvents).map((e) => [idOf(e), e]));
    events.value = all.slice(0, keptEvents);
  });
  return follow<WatchEventsResponse>("events", calls.watchEvents(), {
    begin: () => kept.clear(),
    message({ event }) {
      if (event) kept.set(idOf(event), event);
      publish();
    },
  });
}

const pause = 3_000; // milliseconds
const patience = 10_000;

/** readAgain polls the read-only port, which has no watches. */
function readAgain(): () => void {
  const port = "the read-only port";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  // One request at a time: a late answer must not replace a newer one.
  const read = async () => {
    const late = setTimeout(() => over || noteLost(port, new ApiError(0, silent)), patience);
    try {
      const [itself, list, told] = await Promise.all([perform<GetNodeResponse>(calls.getNode("")), perform<ListPodsResponse>(calls.listPods()), perform<ListEventsResponse>(calls.listEvents())]);
      if (over) return;
      node.value = itself;
      pods.value = new Map((list.pods ?? []).map((pod) => [keyOf(pod), pod]));
      events.value = (told.events ?? []).reverse().slice(0, keptEvents);
      synced.value = true;
      noteLive(port);
    } catch (error) {
      if (!over) noteLost(port, error);
    } finally {
      clearTimeout(late);
    }
    if (!over) timer = setTimeout(() => void read(), pause);
  };
  void read();
  return () => {
    over = true;
    clearTimeout(timer);
    forgetWatch(port);
  };
}

function onceAFrame(what: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    // A hidden page gets no frames, but should be up to date when it is shown.
    const soon = document.hidden ? (run: () => void) => setTimeout(run, 250) : requestAnimationFrame;
    soon(() => {
      asked = false;
      if (session.value) what(); // the user may have signed out
    });
  };
}
