// A pod's timeline, drawn to scale.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Step } from "../api/gen";
import type { Call } from "../pure/calls";
import { said } from "../pure/said";
import { span } from "../pure/time";
import { type Bar, chart, type Lane, ticks, told, wordsOf } from "../pure/timeline";
import { ApiButton } from "./commands";
import { Fact } from "./fact";

const lane = 28;
const labelWidth = 128;
const shortest = 0.02; // seconds; the shortest scale before there are steps

interface Props {
  steps: readonly Step[];
  containers: readonly string[];
  accepted: string;
  now: number;
  whole: boolean; // show all, not only the start
  call: Call; // the call that returned the steps
}

export function Timeline({ steps, containers, accepted, now, whole, call }: Props) {
  const zoom = useSignal<"start" | "all">(whole ? "all" : "start");
  const width = useSignal(800);
  const box = useRef<HTMLDivElement>(null);
  useSignalEffect(() => {
    const watcher = new ResizeObserver(([entry]) => (width.value = Math.max(320, entry!.contentRect.width)));
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  });
  const at = (now - Date.parse(accepted)) / 1000;
  const data = chart(steps, containers, at);
  const to = zoom.value === "all" ? Math.max(at, data.end, shortest) : startEnd(data.ready, data.end, at);
  const plot = useComputed(() => width.value - labelWidth - 12);
  const x = (s: number) => labelWidth + (Math.max(0, Math.min(s, to)) / to) * plot.value;
  const height = data.lanes.length * lane + 26;
  return (
    <div class="timeline">
      <div class="section-head">
        <h2>Timeline</h2>
        <p class="muted">{data.ready === null ? "not ready so far" : `ready after ${span(data.ready)}`}</p>
        <div class="section-tools">
          <ApiButton call={call} />
          <div class="segments" role="group" aria-label="Span">
            <button type="button" aria-pressed={zoom.value === "start"} onClick={() => (zoom.value = "start")}>
              Start
            </button>
            <button type="button" aria-pressed={zoom.value === "all"} onClick={() => (zoom.value = "all")}>
              All
            </button>
          </div>
        </div>
      </div>
      <div ref={box} class="timeline-box" tabIndex={0}>
        <svg width={width.value} height={height} role="img" aria-label={`Timeline: ${data.lanes.map((l) => `${l.name || "pod"}: ${told(l) || "nothing yet"}`).join("; ")}`}>
          <pattern id="failed" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <path class="hatch" d="M2.5 0V5" />
          </pattern>
          {ticks(0, to, Math.max(3, plot.value / 110)).map((t) => (
            <g class="tick">
              <line x1={x(t)} x2={x(t)} y1={0} y2={height - 20} />
              <text x={x(t)} y={height - 5} text-anchor={x(t) > width.value - 50 ? "end" : t === 0 ? "start" : "middle"}>
                {t === 0 ? "accepted" : `+${span(t)}`}
              </text>
            </g>
          ))}
          {data.ready !== null && data.ready <= to && <line class="ready-line" x1={x(data.ready)} x2={x(data.ready)} y1={0} y2={height - 20} />}
          {data.lanes.map((l, i) => (
            <LaneRow lane={l} y={i * lane} x={x} to={to} width={width.value} />
          ))}
        </svg>
      </div>
      <Key />
      <Words lanes={data.lanes} />
    </div>
  );
}

/** startEnd leaves some room after the moment at which the pod was ready. */
function startEnd(ready: number | null, end: number, now: number): number {
  if (ready !== null) return Math.max(ready * 1.25, shortest);
  return Math.max(Math.min(now, Math.max(end, 1)) * 1.05, 0.05);
}

interface LaneRowProps {
  lane: Lane;
  y: number;
  x: (s: number) => number;
  to: number;
  width: number;
}

function LaneRow({ lane: l, y, x, to, width }: LaneRowProps) {
  const middle = y + lane / 2;
  return (
    <g class="lane">
      <line class="lane-line" x1={0} x2={width} y1={y + lane} y2={y + lane} />
      <text class={l.name ? "lane-name" : "lane-name pod"} x={4} y={middle + 4}>
        {short(l.name || "pod", 17)}
      </text>
      {l.bars.filter((b) => b.from <= to).map((b) => (
        <BarShape bar={b} from={x(b.from)} to={x(b.to)} y={middle} cut={b.to > to} />
      ))}
      {l.marks.filter((m) => m.at <= to).map((m) => (
        <path class={m.bad ? "mark bad" : "mark"} d={m.bad ? `M${x(m.at)} ${middle - 8}l5 9h-10z` : `M${x(m.at)} ${middle - 4}l4 4-4 4-4-4z`}>
          <title>{`${m.label}${m.count > 1 ? ` (${m.count}×)` : ""} at +${span(m.at)}\n${said(m.detail)}`}</title>
        </path>
      ))}
    </g>
  );
}

function BarShape({ bar, from, to, y, cut }: { bar: Bar; from: number; to: number; y: number; cut: boolean }) {
  const width = Math.max(2.5, to - from);
  const box = { x: from, y: y - 8, width, height: 16, rx: Math.min(3, width / 2) };
  const text = wordsOf(bar);
  return (
    <g class={`bar-${bar.kind}${bar.bad ? " bad" : ""}${bar.open || cut ? " open" : ""}`}>
      <title>{`${bar.label}: ${bar.open ? "since" : `${span(bar.to - bar.from)}, from`} +${span(bar.from)}\n${said(bar.detail)}`}</title>
      <rect class="body" {...box} />
      {bar.bad && <rect {...box} fill="url(#failed)" />}
      {text.length * 6.4 + 12 < width && (
        <text x={from + 7} y={y + 4}>
          {text}
        </text>
      )}
    </g>
  );
}

/** Words lists the bars as text, for users without a pointer. */
function Words({ lanes }: { lanes: readonly Lane[] }) {
  return (
    <details class="timeline-words" open={lanes.length <= 8}>
      <summary>Step by step</summary>
      <dl class="facts">
        {lanes.filter((l) => l.bars.length > 0).map((l) => (
          <Fact name={l.name || "pod"}>{told(l)}</Fact>
        ))}
      </dl>
    </details>
  );
}

function Key() {
  const kinds: Array<[string, string]> = [
    ["bar-sandbox", "sandbox"],
    ["bar-pull", "image"],
    ["bar-create", "create"],
    ["bar-start", "start"],
    ["bar-run", "runs"],
    ["bar-run bad", "failed"],
    ["bar-hold", "held back"],
  ];
  return (
    <ul class="key" aria-hidden="true">
      {kinds.map(([name, words]) => (
        <li>
          <svg width="14" height="10" class={name}>
            <rect class="body" x="0.5" y="0.5" width="13" height="9" rx="2" />
            {name.endsWith("bad") && <rect x="0.5" y="0.5" width="13" height="9" rx="2" fill="url(#failed)" />}
          </svg>
          {words}
        </li>
      ))}
      <li>
        <svg width="10" height="10">
          <path class="mark" d="M5 1l4 4-4 4-4-4z" />
        </svg>
        event
      </li>
      <li>
        <svg width="12" height="10">
          <path class="mark bad" d="M6 0l5 9h-10z" />
        </svg>
        warning
      </li>
      <li>
        <svg width="4" height="14">
          <line class="ready-line" x1="2" x2="2" y1="0" y2="14" />
        </svg>
        ready
      </li>
    </ul>
  );
}

const short = (name: string, most: number) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
