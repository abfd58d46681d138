// The flight record of a pod: its figures, runs, probes, events and changes on one time axis.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { AuditEntry } from "../api/gen";
import { watchEventsOf } from "../pure/calls";
import type { Span } from "../pure/line";
import { holeOf, pointsOf, type Reach } from "../pure/past";
import { cores } from "../pure/quantity";
import { clocks, endsOf, happeningsOf, type Happening, type Run, reachesOfRecord, reachOf, runsOf, within } from "../pure/record";
import { age, bytes, clock, full } from "../pure/time";
import { now } from "../state/clock";
import { useTrail } from "../state/deeds";
import { callOf, usePast } from "../state/past";
import { useEventsOf } from "../state/record";
import { place, setQuery } from "../state/route";
import { isAdmin } from "../state/session";
import { ApiButton } from "./commands";
import { Ends } from "./ends";
import { Spark } from "./spark";
import "../style/record.css";

/** Recorded names a pod, which may be gone. */
export interface Recorded {
  namespace: string;
  name: string;
  uid: string;
  /** The pod is on the node. */
  present: boolean;
}

export function Record({ of }: { of: Recorded }) {
  return isAdmin.value ? <WithChanges of={of} /> : <Flight of={of} entries={[]} />;
}

function WithChanges({ of }: { of: Recorded }) {
  const { entries, problem } = useTrail(of);
  return <Flight of={of} entries={entries} problem={problem} />;
}

function Flight({ of, entries, problem = "" }: { of: Recorded; entries: readonly AuditEntry[]; problem?: string }) {
  const events = useEventsOf(of);
  const reach = reachOf(place.value.query.get("reach"), events, of.uid, now.value);
  const past = usePast(of, reach);
  const span = { from: past.to - reach.length, to: past.to };
  const runs = runsOf(events, of.present ? of.uid : "", now.value);
  const happenings = happeningsOf(events, entries);
  const shown = within(happenings, span);
  return (
    <section class="record">
      <div class="section-head">
        <h2>Flight record</h2>
        <div class="section-tools">
          <ApiButton call={[callOf(of, reach, past.to), watchEventsOf(of).once!]} />
          <div class="segments" role="group" aria-label="Time">
            {reachesOfRecord.map((r) => (
              <button type="button" key={r.id} aria-pressed={r.id === reach.id} onClick={() => setQuery("reach", r.id)}>
                {r.words}
              </button>
            ))}
          </div>
        </div>
      </div>
      <Axis span={span}>
        <Figures past={past} span={span} reach={reach} />
        {[...new Set(runs.map((run) => run.container))].map((name) => (
          <Lane key={name} name={name} words={runWords(runs.filter((run) => run.container === name && run.to >= span.from))}>
            {runs.filter((run) => run.container === name && run.to >= span.from).map((run) => (
              <RunBar run={run} span={span} />
            ))}
          </Lane>
        ))}
        <Marks name="Probes" all={shown.filter((h) => h.kind === "probe")} span={span} />
        <Marks name="Events" all={shown.filter((h) => h.kind === "event")} span={span} />
        {isAdmin.value && <Marks name="Changes" all={shown.filter((h) => h.kind === "change")} span={span} />}
      </Axis>
      <p class="muted record-note">{noteOf(past.refused, past.answer?.missing, problem)}</p>
      <Ends of={of} ends={endsOf(runs).filter((run) => run.to >= span.from)} runs={runs} happenings={happenings} />
      <Story all={shown} />
    </section>
  );
}

function noteOf(refused: string, missing: string | undefined, problem: string): string {
  const changes = isAdmin.value ? problem && `Changes: ${problem}` : "Who changed what is shown to admins.";
  return [refused && `Figures: ${refused}`, missing && `Figures are incomplete: ${missing}`, changes].filter(Boolean).join(" · ");
}

/** Axis draws rows above one line of times, and a cross hair through all of them. */
function Axis({ span, children }: { span: Span; children: ComponentChildren }) {
  const pointed = useSignal<{ part: number; height: number } | null>(null);
  const move = (event: PointerEvent) => {
    const whole = event.currentTarget as Element;
    const box = whole.querySelector(".record-times")!.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    pointed.value = part >= 0 && part <= 1 ? { part, height: whole.clientHeight } : null;
  };
  const place = (part: number) => ({ left: `${part * 100}%` });
  return (
    <div class="record-box" onPointerMove={move} onPointerLeave={() => (pointed.value = null)}>
      {children}
      <div class="record-row">
        <span />
        <div class="record-times" aria-hidden="true">
          {clocks(span, 7).map((at) => (
            <span style={place((at - span.from) / (span.to - span.from))}>{timeOf(at, span)}</span>
          ))}
          {pointed.value !== null && (
            <i class="record-at" style={{ ...place(pointed.value.part), height: `${pointed.value.height}px` }}>
              <b>{full(span.from + pointed.value.part * (span.to - span.from))}</b>
            </i>
          )}
        </div>
      </div>
    </div>
  );
}

const day = 86_400_000;

/** timeOf names the day where times of the day would repeat. */
const timeOf = (at: number, { from, to }: Span) => (to - from > day ? full(at).slice(5, 10) : clock(at).slice(0, 5));

function Row({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="record-row">
      <span class="record-name" title={name}>{name}</span>
      {children}
    </div>
  );
}

function Figures({ past: { answer }, span, reach }: { past: ReturnType<typeof usePast>; span: Span; reach: Reach }) {
  const points = answer?.points ?? [];
  const memory = answer?.memoryLimitBytes === undefined ? null : Number(answer.memoryLimitBytes);
  return (
    <>
      <Row name="Memory">
        <Spark points={pointsOf(points, "workingSetBytes")} span={span} limit={memory} least={2 ** 20} words={bytes} label="Memory on record" hole={holeOf(reach)} />
      </Row>
      <Row name="CPU">
        <Spark points={pointsOf(points, "cores")} span={span} limit={answer?.cpuLimitCores ?? null} least={0.005} words={cores} label="CPU on record" hole={holeOf(reach)} />
      </Row>
    </>
  );
}

function Lane({ name, words, children }: { name: string; words: string; children: ComponentChildren }) {
  return (
    <Row name={name}>
      <div class="record-lane" role="img" aria-label={`${name}: ${words}`}>
        {children}
      </div>
    </Row>
  );
}

const partOf = (at: number, { from, to }: Span) => Math.max(0, Math.min(1, (at - from) / (to - from))) * 100;

const resultOf = ({ end }: Run) => (end ? `ended with exit code ${end.code}` : "runs");

function runWords(runs: readonly Run[]): string {
  const last = runs.at(-1);
  return last ? `${runs.length} ${runs.length === 1 ? "run" : "runs"}, the last ${resultOf(last)}` : "no run in this time";
}

function RunBar({ run, span }: { run: Run; span: Span }) {
  const left = partOf(run.from, span);
  const bad = run.end !== undefined && run.end.code !== 0;
  return <i class={bad ? "record-run bad" : "record-run"} style={{ left: `${left}%`, width: `${partOf(run.to, span) - left}%` }} title={`${full(run.from)}, ${resultOf(run)}, after ${age(run.to - run.from)}\n${run.end?.message ?? ""}`} />;
}

function Marks({ name, all, span }: { name: string; all: readonly Happening[]; span: Span }) {
  if (all.length === 0) return null;
  const bad = all.filter((h) => h.bad).length;
  return (
    <Lane name={name} words={`${all.length}${bad ? `, ${bad} of them bad` : ""}`}>
      {[...all].sort((a, b) => Number(a.bad) - Number(b.bad)).map((h) => (
        <i key={h.id} class={h.bad ? "record-mark bad" : "record-mark"} style={{ left: `${partOf(h.at, span)}%` }} title={`${full(h.at)} ${h.label}${h.count > 1 ? ` (${h.count}×)` : ""}\n${h.detail}`} />
      ))}
    </Lane>
  );
}

const most = 50;

/** Story lists in words what the marks show. */
function Story({ all }: { all: readonly Happening[] }) {
  const whole = useSignal(false);
  const newest = [...all].reverse();
  if (newest.length === 0) return <p class="nothing">Nothing happened in this time.</p>;
  return (
    <>
      <ol class="events">
        {(whole.value ? newest : newest.slice(0, most)).map((h) => (
          <li key={h.id} class={h.bad ? "event bad" : "event"}>
            <time dateTime={new Date(h.at).toISOString()} title={full(h.at)}>
              {clock(h.at)}
            </time>
            <span class="event-reason">{h.label}</span>
            <span class="event-what">
              {h.container && !h.detail.includes(`container ${h.container}`) && <span class="event-container">{h.container}</span>} <span>{h.detail}</span>
              {h.count > 1 && <span class="times">{h.count}×</span>}
            </span>
          </li>
        ))}
      </ol>
      {newest.length > most && (
        <button type="button" class="link-button more" onClick={() => (whole.value = !whole.value)}>
          {whole.value ? "Show fewer" : `Show all ${newest.length}`}
        </button>
      )}
    </>
  );
}
