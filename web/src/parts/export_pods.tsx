// The list of pods as a file.
import type { Pod } from "../api/gen";
import type { Row } from "../pure/export";
import { healthNames, healthOf, readiness, reasonOf, whyOf } from "../pure/health";
import type { Use } from "../pure/usage";
import { now } from "../state/clock";
import { probes } from "../state/live";
import { Export } from "./export";

export function ExportPods({ pods, uses }: { pods: readonly Pod[]; uses: ReadonlyMap<string, Use> }) {
  return <Export name="pods" rows={() => pods.map((pod) => rowOf(pod, uses.get(pod.uid ?? "")))} />;
}

function rowOf(pod: Pod, use: Use | undefined): Row {
  const { ready, all } = readiness(pod);
  return {
    namespace: pod.namespace,
    name: pod.name,
    state: healthNames[healthOf(pod, now.value)],
    reason: reasonOf(pod),
    why: whyOf(pod, probes.value.get(pod.uid ?? "")),
    ready,
    containers: all,
    restarts: pod.restarts ?? 0,
    cores: use?.cores ?? "",
    memoryBytes: use?.memory ?? "",
    acceptedAt: pod.acceptedAt,
    ip: pod.podIps?.[0],
    source: pod.source,
    uid: pod.uid,
  };
}
