// The probes of a container and their failures.
import type { Pod } from "../api/gen";
import type { Container, ContainerStatus } from "../api/kube";
import { type ProbeStrip, probeStrip } from "../pure/probes";
import { full } from "../pure/time";
import { now } from "../state/clock";
import { events } from "../state/live";
import { Fact } from "./fact";

interface ProbesProps {
  pod: Pod;
  container: Container;
  status: ContainerStatus | undefined;
}

export function Probes({ pod, container: c, status }: ProbesProps) {
  const there = (["startup", "readiness", "liveness"] as const).filter((kind) => c[`${kind}Probe`]);
  if (there.length === 0) return null;
  const from = Date.parse(status?.state?.running?.startedAt ?? "");
  return (
    <Fact name="Probes">
      {there.map((kind) => {
        const spec = c[`${kind}Probe`] as Record<string, Record<string, unknown>>;
        const strip = Number.isNaN(from) ? null : probeStrip(events.value, { uid: pod.uid!, container: c.name, kind, from, to: Math.max(now.value, from + 1000), period: Number(spec["periodSeconds"] ?? 10) });
        return (
          <div class="probe">
            <p>
              {kind} <span class="muted">{probeWords(spec)}{strip?.failures === 0 && ", has not failed"}</span>
            </p>
            {strip !== null && strip.failures > 0 && <Strip strip={strip} name={kind} started={from} />}
          </div>
        );
      })}
    </Fact>
  );
}

/** Strip shows when a probe has failed during the run of the container. */
function Strip({ strip, name, started }: { strip: ProbeStrip; name: string; started: number }) {
  const words = strip.failing ? "fails" : `failed ${strip.failures}×, not recently`;
  return (
    <>
      <svg class="probe-strip" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={`The ${name} probe ${words} since ${full(started)}`}>
        <rect class="probe-ok" width="1000" height="10" />
        {strip.parts.map((part) => (
          <rect class="probe-bad" x={part.from} width={part.to - part.from} height="10">
            <title>{`${part.count}×, last at ${full(part.at)}\n${part.message}`}</title>
          </rect>
        ))}
      </svg>
      <p class={strip.failing ? "probe-words bad" : "probe-words"}>
        {words} {strip.last && <span class="muted">{strip.last}</span>}
      </p>
    </>
  );
}

function probeWords(p: Record<string, Record<string, unknown>>): string {
  const every = `every ${p["periodSeconds"] ?? 10} s`;
  if (p["httpGet"]) return `GET ${p["httpGet"]["path"] ?? "/"} on port ${p["httpGet"]["port"]}, ${every}`;
  if (p["tcpSocket"]) return `connect to port ${p["tcpSocket"]["port"]}, ${every}`;
  if (p["grpc"]) return `gRPC health on port ${p["grpc"]["port"]}, ${every}`;
  return `${((p["exec"]?.["command"] as string[] | undefined) ?? []).join(" ")}, ${every}`;
}
