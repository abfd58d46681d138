// A pod that is gone: what the node still knows of it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Event, GetTimelineResponse } from "../api/gen";
import { perform } from "../api/request";
import { Timeline } from "../parts/chart";
import { Record } from "../parts/record";
import { Was } from "../parts/was";
import { getTimeline } from "../pure/calls";

interface Props {
  namespace: string;
  name: string;
  /** The events of pods of the name, newest first. */
  events: readonly Event[];
}

export function GonePod({ namespace, name, events }: Props) {
  const timeline = useSignal<GetTimelineResponse>({});
  const pod = { namespace, name, uid: events[0]?.uid ?? "" };
  useEffect(() => {
    let current = true;
    perform<GetTimelineResponse>(getTimeline(pod)).then(
      (answer) => current && (timeline.value = answer),
      () => {}, // there are the events
    );
    return () => {
      current = false;
    };
  }, [namespace, name, events[0]?.revision]);
  const steps = timeline.value.steps ?? [];
  const containers = [...new Set(steps.flatMap((s) => s.container || []))];
  return (
    <>
      {steps.length > 0 && (
        <section>
          <Timeline steps={steps} containers={containers} accepted={steps[0]!.time ?? ""} now={Date.parse(steps.at(-1)!.time ?? "")} whole call={getTimeline(pod)} />
        </section>
      )}
      <Record of={{ ...pod, present: false }} />
      <Was of={pod} events={events.filter((e) => e.uid === pod.uid)} />
    </>
  );
}
