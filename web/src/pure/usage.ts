// Usage over time, from figures that come one by one.
import type { Disk, NodeStats, PodStats, Stats, Usage } from "../api/gen";
import { seconds } from "./time";

export interface Point {
  at: number; // milliseconds, by the node's clock
  value: number;
}

/** Track holds the usage of a container or of the node. */
export interface Track {
  cores: readonly Point[];
  memory: readonly Point[];
  spent: Point | null; // CPU seconds so far
}

export const emptyTrack: Track = { cores: [], memory: [], spent: null };

export const reach = 15 * 60_000;
/** A larger distance between figures is not joined by a line: the page was closed between them. */
export const gap = 45_000;

/** extend adds new figures; known ones change nothing. */
export function extend(track: Track, usage: Usage | undefined): Track {
  const at = Date.parse(usage?.time ?? "");
  if (!usage || Number.isNaN(at) || at === (track.spent ?? track.memory.at(-1))?.at) return track;
  const spent = usage.cpuTime === undefined ? null : { at, value: seconds(usage.cpuTime) };
  const used = usage.cores ?? rate(track.spent, spent);
  const memory = usage.workingSetBytes ?? usage.memoryBytes;
  return {
    cores: used === null ? until(track.cores, at) : push(track.cores, { at, value: used }),
    memory: memory === undefined ? until(track.memory, at) : push(track.memory, { at, value: Number(memory) }),
    spent,
  };
}

/** Use holds the present usage of a pod, as far as it is known. */
export interface Use {
  cores: number | null;
  memory: number | null;
}

/** usesByPod maps UIDs of pods to their usage. */
export const usesByPod = (pods: readonly PodStats[]): ReadonlyMap<string, Use> =>
  new Map(pods.map((pod) => [pod.uid ?? "", { cores: pod.usage?.cores ?? null, memory: pod.usage?.workingSetBytes === undefined ? null : Number(pod.usage.workingSetBytes) }]));

/** rate returns the growth of a counter in a second; null after a reset or a long pause. */
export function rate(before: Point | null | undefined, now: Point | null): number | null {
  if (!before || !now || now.at <= before.at || now.at - before.at > gap || now.value < before.value) return null;
  return (now.value - before.value) / ((now.at - before.at) / 1000);
}

/** push adds a point and drops points that are too old to be shown. */
export function push(points: readonly Point[], next: Point): Point[] {
  return [...points.filter((p) => p.at > next.at - reach && p.at < next.at), next];
}

/** until drops points later than now: the node's clock was set back. */
const until = (points: readonly Point[], now: number) => points.filter((p) => p.at <= now);

export interface NodeTrack {
  use: Track;
  received: readonly Point[]; // bytes a second
  sent: readonly Point[];
  waits: Record<"cpu" | "memory" | "io", readonly Point[]>; // percent of the time
  latest: Stats | null;
}

export const emptyNode: NodeTrack = { use: emptyTrack, received: [], sent: [], waits: { cpu: [], memory: [], io: [] }, latest: null };

export function extendNode(track: NodeTrack, stats: Stats): NodeTrack {
  const now = stats.node ?? {};
  const before = track.latest?.node ?? {};
  const at = Date.parse(now.usage?.time ?? "");
  if (Number.isNaN(at)) return { ...track, latest: stats };
  const traffic = (points: readonly Point[], of: "receivedBytes" | "sentBytes") => {
    const grew = rate(counter(before, of), counter(now, of));
    return grew === null ? until(points, at) : push(points, { at, value: grew });
  };
  const wait = (of: "cpu" | "memory" | "io") => {
    const share = now.pressure?.[of];
    return share === undefined ? until(track.waits[of], at) : push(track.waits[of], { at, value: share });
  };
  return {
    use: extend(track.use, now.usage),
    received: traffic(track.received, "receivedBytes"),
    sent: traffic(track.sent, "sentBytes"),
    waits: { cpu: wait("cpu"), memory: wait("memory"), io: wait("io") },
    latest: stats,
  };
}

function counter(of: NodeStats, name: "receivedBytes" | "sentBytes"): Point | null {
  const bytes = of.traffic?.[name];
  return bytes === undefined ? null : { at: Date.parse(of.usage?.time ?? ""), value: Number(bytes) };
}

/** recalled parses a saved track, if it is recent enough to be continued. */
export function recalled(text: string | null, now: number): NodeTrack {
  try {
    const track = JSON.parse(text ?? "") as NodeTrack;
    return now - track.use.memory.at(-1)!.at < reach ? { ...emptyNode, ...track } : emptyNode;
  } catch {
    return emptyNode; // nothing, or damaged
  }
}

/** sameDisk reports whether two directories are on one file system. */
export const sameDisk = (a: Disk | undefined, b: Disk | undefined) => a?.capacityBytes === b?.capacityBytes;
