// The facts of a pod, and how it got there.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GetTimelineResponse, Pod, Step } from "../api/gen";
import { perform } from "../api/request";
import { Timeline } from "../parts/chart";
import { ApiButton } from "../parts/commands";
import { Conditions } from "../parts/conditions";
import { ContainerBox } from "../parts/container";
import { ContainerUsage } from "../parts/container_usage";
import { Past } from "../parts/past";
import { Was } from "../parts/was";
import { Volumes } from "../parts/volumes";
import { getPod, getTimeline } from "../pure/calls";
import { ofPod } from "../pure/conditions";
import { containersOf, type PodContainer } from "../pure/containers";
import { isOver, objectOf } from "../pure/health";
import { spanOf } from "../pure/line";
import { now } from "../state/clock";
import { reachable } from "../state/link";
import { events } from "../state/live";
import { usePulls } from "../state/pulls";
import { hrefOf } from "../state/route";
import { usePodUsage } from "../state/usage";

export function Overview({ pod }: { pod: Pod }) {
  const object = objectOf(pod);
  const spec = object.spec ?? {};
  const containers = containersOf(object);
  const steps = useTimeline(pod);
  const over = isOver(pod);
  const usage = usePodUsage(pod);
  const pulls = usePulls();
  const pullOf = (c: PodContainer) => pulls.find((pull) => pull.waiters?.some((w) => w.uid === pod.uid && w.container === c.name));
  const usageOf = (c: PodContainer) => {
    const coming = usage.latest === null && c.status?.state?.running !== undefined;
    const stats = usage.latest?.containers?.find((one) => one.name === c.name);
    return <ContainerUsage container={c.spec} track={usage.containers.get(c.name)} stats={stats} coming={coming} span={span} />;
  };
  const span = spanOf(...[...usage.containers.values()].map((track) => track.memory));
  return (
    <>
      <section>
        <Timeline steps={steps} containers={containers.map((c) => c.name)} accepted={pod.acceptedAt ?? ""} now={over ? lastOf(steps, pod) : now.value} whole={over || !pod.ready || (pod.restarts ?? 0) > 0} call={getTimeline(pod)} />
      </section>
      <section>
        <div class="section-head">
          <h2>Containers</h2>
          <ApiButton call={getPod(pod)} />
        </div>
        <div class="containers">
          {containers.map((c) => (
            <ContainerBox key={c.name} pod={pod} container={c} pull={pullOf(c)} usage={c.kind === "init" ? null : usageOf(c)} />
          ))}
        </div>
      </section>
      <Past of={pod} events={events.value.filter((e) => e.uid === pod.uid)} />
      <Was of={pod} events={events.value.filter((e) => e.uid === pod.uid)} now={pod.object} />
      <div class="columns even">
        <section>
          <h2>Conditions</h2>
          <Conditions lines={ofPod(object.status?.conditions ?? [])} />
        </section>
        {(spec.volumes?.length ?? 0) > 0 && (
          <section>
            <h2>Volumes</h2>
            <Volumes pod={pod} volumes={spec.volumes!} />
          </section>
        )}
        {object.metadata?.labels && (
          <section>
            <h2>Labels</h2>
            <ul class="labels">
              {Object.entries(object.metadata.labels).map(([key, value]) => (
                <li>
                  <a href={`${hrefOf("pods")}?q=${encodeURIComponent(`${key}=${value}`)}`}>
                    {key}=<b>{value}</b>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </>
  );
}

const lastOf = (steps: readonly Step[], pod: Pod) => Date.parse(steps.at(-1)?.time ?? pod.acceptedAt ?? "");

/** useTimeline reads the timeline again after each event of the pod, and once the node is back. */
function useTimeline(pod: Pod): readonly Step[] {
  const steps = useSignal<readonly Step[]>([]);
  const newest = useSignal("");
  useSignalEffect(() => {
    newest.value = events.value.find((e) => e.uid === pod.uid)?.revision ?? "";
  });
  const stamp = newest.value;
  useEffect(() => {
    let current = true;
    perform<GetTimelineResponse>(getTimeline(pod)).then(
      (answer) => current && (steps.value = answer.steps ?? []),
      () => {}, // it stays as it was; the banner says that the node is away
    );
    return () => {
      current = false;
    };
  }, [pod.uid, stamp, reachable.value]);
  return steps.value;
}
