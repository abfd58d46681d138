// The usage of a container, beside its requests and limits.
import type { ContainerStats } from "../api/gen";
import type { Container } from "../api/kube";
import type { Span } from "../pure/line";
import { cores, percent, quantity } from "../pure/quantity";
import { bytes } from "../pure/time";
import { emptyTrack, type Point, type Track } from "../pure/usage";
import { Spark } from "./spark";

interface Props {
  container: Container;
  track: Track | undefined;
  stats: ContainerStats | undefined;
  /** coming: it runs, but has no figures yet. */
  coming: boolean;
  span: Span;
}

export function ContainerUsage({ container: c, track = emptyTrack, stats, coming, span }: Props) {
  if (!coming && track.memory.length === 0 && track.cores.length === 0) return <p class="usage none">No usage data yet.</p>;
  const asked = (name: string) => quantity(c.resources?.requests?.[name]);
  const limit = (name: string) => quantity(c.resources?.limits?.[name]);
  return (
    <div class="usage">
      <One name="CPU" points={track.cores} asked={asked("cpu")} limit={limit("cpu")} least={0.005} words={cores} span={span} />
      <One name="Memory" points={track.memory} asked={asked("memory")} limit={limit("memory")} least={2 ** 20} words={bytes} span={span} />
      {stats?.writtenBytes !== undefined && <p class="usage-written">{bytes(Number(stats.writtenBytes))} in the writable layer</p>}
    </div>
  );
}

interface OneProps {
  name: string;
  points: readonly Point[];
  asked: number | null;
  limit: number | null;
  least: number;
  words: (n: number) => string;
  span: Span;
}

function One({ name, points, asked, limit, least, words, span }: OneProps) {
  const last = points.at(-1)?.value;
  const against = limit ?? asked;
  const share = last !== undefined && against ? last / against : null;
  return (
    <div class="usage-one">
      <p>
        {name} <b>{last === undefined ? "–" : words(last)}</b>
        <span class="muted">{against === null ? "no limit" : limit !== null ? `of ${words(limit)}` : `of ${words(asked!)} requested`}</span>
        {share !== null && <span class={limit !== null && share > 0.85 ? "gauge-share high" : "gauge-share"}>{percent(last!, against!)}</span>}
      </p>
      <Spark points={points} span={span} limit={limit} least={least} words={words} label={name} />
    </div>
  );
}
