// The runs of containers that have ended, each with its cause, and a text about it for a ticket.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GetPodHistoryResponse } from "../api/gen";
import { fetchOk, perform } from "../api/request";
import { getPodHistoryUntil, readTail } from "../pure/calls";
import { strip } from "../pure/ansi";
import { containersOf } from "../pure/containers";
import { objectOf } from "../pure/health";
import { pointsOf } from "../pure/past";
import type { Happening, Run } from "../pure/record";
import { causeOf, type Evidence, ticketOf } from "../pure/ticket";
import { age, clock, full } from "../pure/time";
import { node, pods } from "../state/live";
import { hrefOf, place, setQuery } from "../state/route";
import { session } from "../state/session";
import { CopyButton } from "./commands";
import { Dialog } from "./dialog";
import type { Recorded } from "./record";
import { Waiting } from "./waiting";

interface Props {
  of: Recorded;
  ends: readonly Run[]; // the latest first
  runs: readonly Run[];
  happenings: readonly Happening[];
}

const most = 10;

export function Ends({ of, ends, runs, happenings }: Props) {
  const asked = useSignal<Run | null>(null);
  const whole = useSignal(false);
  const why = place.value.query.get("why");
  useEffect(() => {
    // The address asks about the latest end of a container.
    const run = why && ends.find((one) => one.container === why);
    if (run) asked.value ??= run;
  }, [why, ends.length]);
  if (ends.length === 0) return null;
  const close = () => {
    asked.value = null;
    setQuery("why", "");
  };
  const evidence = (run: Run): Evidence => ({ run, next: nextOf(run, runs), happenings, memory: [], memoryLimit: null });
  return (
    <>
      <h3>Runs that have ended</h3>
      <ul class="ends">
        {(whole.value ? ends : ends.slice(0, most)).map((run) => (
          <li key={`${run.uid} ${run.container} ${run.from}`} class={run.end!.code === 0 ? "" : "bad"}>
            <time dateTime={new Date(run.to).toISOString()} title={full(run.to)}>
              {clock(run.to)}
            </time>
            <span class="ends-name">{run.container}</span>
            <span class="ends-why">
              {causeOf(evidence(run))}{" "}
              <span class="muted">
                {run.end!.message && `“${run.end!.message}”, `}after {age(run.to - run.from)}
              </span>
            </span>
            <LogLink of={of} run={run} runs={runs} />
            <button type="button" class="quiet" aria-label={`Why did ${run.container} end at ${clock(run.to)}?`} onClick={() => (asked.value = run)}>
              Why?
            </button>
          </li>
        ))}
      </ul>
      {ends.length > most && (
        <button type="button" class="link-button more" onClick={() => (whole.value = !whole.value)}>
          {whole.value ? "Show fewer" : `Show all ${ends.length}`}
        </button>
      )}
      {asked.value && <Ticket of={of} evidence={evidence(asked.value)} onClose={close} />}
    </>
  );
}

const nextOf = (run: Run, runs: readonly Run[]) => runs.find((one) => one.uid === run.uid && one.container === run.container && one.from >= run.to);

/** LogLink leads to the lines before an end. The page shows the logs of the last two runs of a container. */
function LogLink({ of, run, runs }: { of: Recorded; run: Run; runs: readonly Run[] }) {
  const newer = runs.filter((one) => one.uid === run.uid && one.container === run.container && one.from >= run.to).length;
  if (!of.present || of.uid !== run.uid || newer > 1 || !session.value?.live) return <span />;
  const query = new URLSearchParams({ c: run.container, at: new Date(run.to - 2000).toISOString(), ...(newer > 0 && { previous: "1" }) });
  return <a href={`${hrefOf("pods", of.namespace, of.name, "logs")}?${query}`}>Log</a>;
}

const lines = 20;
const before = 10 * 60_000;

/** Ticket gathers what the node knows of an end. What it cannot get, the text goes without. */
function Ticket({ of, evidence, onClose }: { of: Recorded; evidence: Evidence; onClose: () => void }) {
  const text = useSignal("");
  const { run } = evidence;
  useEffect(() => {
    let current = true;
    void write(of, evidence).then((written) => current && (text.value = written));
    return () => {
      current = false;
    };
  }, [run.uid, run.container, run.from]);
  return (
    <Dialog title={`Why did ${run.container} end?`} onClose={onClose}>
      {text.value ? (
        <>
          <pre class="ticket" tabIndex={0}>
            {text.value}
          </pre>
          <p class="hint">The text has lines of the log: read it before you pass it on.</p>
          <footer>
            <CopyButton text={text.value} />
          </footer>
        </>
      ) : (
        <Waiting words="Gathering what the node knows…" />
      )}
    </Dialog>
  );
}

async function write(of: Recorded, evidence: Evidence): Promise<string> {
  const { run } = evidence;
  const pod = { ...of, uid: run.uid };
  const iso = (at: number) => new Date(at).toISOString();
  const [past, log] = await Promise.all([
    perform<GetPodHistoryResponse>(getPodHistoryUntil(pod, iso(run.to - before), iso(run.to))).catch(() => null),
    run.end?.attempt === undefined || !session.value?.live ? null : fetchOk(readTail(pod, run.container, run.end.attempt, lines).path).then((answer) => answer.text(), () => null),
  ]);
  const memoryLimit = past?.memoryLimitBytes === undefined ? null : Number(past.memoryLimitBytes);
  const there = pods.value.get(`${of.namespace}/${of.name}`);
  const image = there?.uid === run.uid ? containersOf(objectOf(there)).find((c) => c.name === run.container)?.status?.image : "";
  const n = node.value;
  return ticketOf(
    { ...evidence, memory: pointsOf(past?.points ?? [], "workingSetBytes"), memoryLimit },
    { ...of, image: image ?? "", node: `node ${n?.name}, kubelet ${n?.version}, ${n?.runtime?.name} ${n?.runtime?.version}, kernel ${n?.kernelVersion}`, log: log === null ? null : log.trimEnd().split("\n").map(strip) },
  );
}
