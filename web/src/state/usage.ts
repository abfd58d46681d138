// The usage of the node and its pods, watched while a page shows it: the node collects figures only
// on request.
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GetStatsHistoryResponse, GetStatsResponse, Pod, PodStats, Stats, WatchStatsResponse } from "../api/gen";
import { perform } from "../api/request";
import { through } from "../api/through";
import { type Call, getUsageHistory, watchUsage, watchUsageOf } from "../pure/calls";
import { emptyTrack, extend, extendNode, type NodeTrack, recalled, type Track } from "../pure/usage";
import { follow } from "./link";
import { onLeaving, session } from "./session";
import { keep, recall } from "./storage";

const kept = `usage of the node${through}`;

/** nodeUsage survives page changes and a reload: the node keeps a history for its pods, but not for itself. */
const nodeUsage = signal<NodeTrack>(recalled(recall("sessionStorage", kept), Date.now()));

onLeaving(() => (nodeUsage.value = recalled(null, Date.now())));

export function keepUsage(): void {
  addEventListener("pagehide", () => keep("sessionStorage", kept, JSON.stringify({ ...nodeUsage.value, latest: null })));
}

export function useNodeUsage(): NodeTrack {
  useStats(watchUsage(""), (stats) => (nodeUsage.value = extendNode(nodeUsage.value, stats)));
  return nodeUsage.value;
}

export interface PodUsage {
  containers: ReadonlyMap<string, Track>;
  latest: PodStats | null;
  missing: string;
}

const nothing: PodUsage = { containers: new Map(), latest: null, missing: "" };

/** usePodUsage starts with the node's history of the last quarter of an hour. */
export function usePodUsage(pod: Pod): PodUsage {
  const usage = useSignal<PodUsage>(nothing);
  useEffect(() => {
    let current = true;
    usage.value = nothing;
    perform<GetStatsHistoryResponse>(getUsageHistory(pod)).then(
      (past) => {
        if (!current) return;
        const containers = new Map(usage.value.containers);
        for (const c of past.containers ?? []) {
          // Figures that the watch has sent meanwhile are newer, and stay.
          const live = containers.get(c.name!);
          const track = (c.usages ?? []).reduce(extend, emptyTrack);
          containers.set(c.name!, live ? join(track, live) : track);
        }
        usage.value = { ...usage.value, containers };
      },
      () => {}, // then it starts empty
    );
    return () => {
      current = false;
    };
  }, [pod.uid]);
  useStats(watchUsageOf(pod), (stats) => {
    const latest = stats.pods?.find((p) => p.uid === pod.uid) ?? null;
    const containers = new Map(usage.value.containers);
    for (const c of latest?.containers ?? []) containers.set(c.name!, extend(containers.get(c.name!) ?? emptyTrack, c.usage));
    usage.value = { containers, latest, missing: stats.missing ?? "" };
  }, pod.uid);
  return usage.value;
}

function join(past: Track, live: Track): Track {
  const from = live.memory[0]?.at ?? Infinity;
  const older = (points: Track["cores"]) => points.filter((p) => p.at < from);
  return { cores: [...older(past.cores), ...live.cores], memory: [...older(past.memory), ...live.memory], spent: live.spent };
}

const interval = 5000; // milliseconds between readings without a watch

/** useStats watches figures while the page is visible; on the read-only port it polls them. */
function useStats(call: Call, told: (stats: Stats) => void, key = "") {
  useEffect(() => {
    const begin = () => (session.value?.live ? watchStats(call, told) : ask(call.once!, told));
    let stop = document.hidden ? () => {} : begin();
    const look = () => {
      stop();
      stop = document.hidden ? () => {} : begin();
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      stop();
    };
  }, [call.path, key]);
}

function watchStats(call: Call, told: (stats: Stats) => void): () => void {
  return follow<WatchStatsResponse>("usage", call, { message: ({ stats }) => stats && told(stats) });
}

function ask(call: Call, told: (stats: Stats) => void): () => void {
  const once = () => void perform<GetStatsResponse>(call).then(({ stats }) => stats && told(stats), () => {});
  once();
  const timer = setInterval(once, interval);
  return () => clearInterval(timer);
}
