// The usage of the node, beside its capacity.
import type { ComponentChildren } from "preact";
import type { Disk } from "../api/gen";
import { watchUsage } from "../pure/calls";
import { spanOf } from "../pure/line";
import { cores, percent, quantity } from "../pure/quantity";
import { age, bytes } from "../pure/time";
import { type NodeTrack, type Point, sameDisk } from "../pure/usage";
import { requested } from "../pure/requests";
import { node, podList } from "../state/live";
import { ApiButton } from "./commands";
import { Meter, Spark } from "./spark";

export function Gauges({ track }: { track: NodeTrack }) {
  const { use, latest } = track;
  const has = (name: string) => quantity(node.value?.capacity?.[name]);
  const asked = (name: "cpu" | "memory") => requested(podList.value, name);
  const given = (name: string) => quantity(node.value?.allocatable?.[name]);
  const span = spanOf(use.memory, track.waits.cpu, track.received);
  const disk = latest?.node?.disk;
  const images = latest?.node?.imageDisk;
  return (
    <section class="gauges-box">
      <div class="gauges" aria-label="What the node uses" role="group">
        <Gauge name="CPU" used={use.cores} whole={has("cpu")} words={cores} all={(n) => `${n} ${n === 1 ? "core" : "cores"}`} asked={asked("cpu")} given={given("cpu")}>
          <Spark points={use.cores} span={span} limit={has("cpu")} least={0.05} words={cores} label="CPU" />
        </Gauge>
        <Gauge name="Memory" used={use.memory} whole={has("memory")} words={bytes} all={bytes} asked={asked("memory")} given={given("memory")}>
          <Spark points={use.memory} span={span} limit={has("memory")} least={2 ** 24} words={bytes} label="Memory" />
        </Gauge>
        <div class="gauge">
          <h3>Disk</h3>
          <DiskRow name="" disk={disk} />
          {images && sameDisk(disk, images) && <p class="gauge-note">{bytes(Number(images.usedBytes ?? 0))} of it are images</p>}
          {images && !sameDisk(disk, images) && <DiskRow name="images" disk={images} />}
        </div>
        <div class="gauge">
          <h3 title="Share of the last 10 seconds in which some task had to wait">Waiting for</h3>
          {(["cpu", "memory", "io"] as const).map((of) => (
            <Row name={{ cpu: "CPU", memory: "memory", io: "disk" }[of]} points={track.waits[of]} limit={100} words={(n) => `${n.toFixed(n < 9.95 ? 1 : 0)} %`} span={span} />
          ))}
        </div>
        <div class="gauge">
          <h3>Network {latest?.node?.traffic?.interface && <span class="muted">{latest.node.traffic.interface}</span>}</h3>
          <Row name="in" points={track.received} least={2048} words={perSecond} span={span} />
          <Row name="out" points={track.sent} least={2048} words={perSecond} span={span} />
        </div>
      </div>
      <div class="gauges-foot">
        <p>
        {use.memory.length > 1 ? `Last ${age(span.to - span.from)}` : "Charts start now"} · live, while this page is open
        {latest?.missing && <span> · incomplete: {latest.missing}</span>}
        </p>
        <ApiButton call={watchUsage(node.value?.name ?? "")} />
      </div>
    </section>
  );
}

const perSecond = (n: number) => `${bytes(n)}/s`;

interface GaugeProps {
  name: string;
  used: readonly Point[];
  whole: number | null;
  words: (n: number) => string;
  all: (n: number) => string;
  /** The requests of all pods. */
  asked: number;
  given: number | null;
  children: ComponentChildren;
}

function Gauge({ name, used, whole, words, all, asked, given, children }: GaugeProps) {
  const last = used.at(-1)?.value;
  return (
    <div class="gauge">
      <h3>
        {name}
        {last !== undefined && whole !== null && <span class={last / whole > 0.85 ? "gauge-share high" : "gauge-share"}>{percent(last, whole)}</span>}
      </h3>
      <p class="gauge-value">
        {last === undefined ? <span class="muted">–</span> : <b>{words(last)}</b>} {whole !== null && <span class="muted">of {all(whole)}</span>}
      </p>
      {children}
      {given !== null && (
        <p class="gauge-note" title="Requests of all pods, as a share of what the node offers">
          {words(asked)} requested, {percent(asked, given)}
        </p>
      )}
    </div>
  );
}

function DiskRow({ name, disk }: { name: string; disk: Disk | undefined }) {
  if (!disk) return <p class="muted">No figures yet</p>;
  const used = Number(disk.usedBytes ?? 0);
  const free = Number(disk.availableBytes ?? 0);
  return (
    <div class="gauge-disk">
      <p>
        <b>{bytes(free)}</b> <span class="muted">free, {bytes(used)} used{name && ` by ${name}`}</span>
      </p>
      <Meter part={used} whole={used + free} label={name ? `Disk of ${name}` : "Disk"} />
    </div>
  );
}

interface RowProps {
  name: string;
  points: readonly Point[];
  limit?: number;
  least?: number;
  words: (n: number) => string;
  span: { from: number; to: number };
}

function Row({ name, points, limit, least = 0, words, span }: RowProps) {
  const last = points.at(-1)?.value;
  return (
    <div class="gauge-row">
      <span class="muted">{name}</span>
      <Spark small points={points} span={span} limit={limit ?? null} least={least} words={words} label={name} />
      <b>{last === undefined ? "–" : words(last)}</b>
    </div>
  );
}
