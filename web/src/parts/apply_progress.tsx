// The result of an applied bundle, live.
import { useSignal } from "@preact/signals";
import type { Outcome, Pod, Result } from "../api/gen";
import { applyManifests } from "../pure/calls";
import { healthOf, keyOf, nameOf, reasonOf, whyOf } from "../pure/health";
import { podsOf, type Standing, stageOf } from "../pure/progress";
import { said } from "../pure/said";
import { age, span } from "../pure/time";
import { idOf, type Undo, wordsOf } from "../pure/undo";
import { type Applied, standing } from "../state/applied";
import { now } from "../state/clock";
import { events, pods, probes } from "../state/live";
import { hrefOf } from "../state/route";
import { Ask } from "./ask";
import { CopyButton } from "./commands";
import { HealthIcon } from "./icons";
import { Meter } from "./spark";
import { Ticking } from "./ticking";
import { Yaml } from "./yaml";

const resultWords: Record<Result, string> = {
  RESULT_UNSPECIFIED: "",
  RESULT_CREATED: "created",
  RESULT_UNCHANGED: "unchanged",
  RESULT_UPDATED: "changed in place",
  RESULT_REPLACED: "replaced",
  RESULT_DELETED: "deleted",
};

export function OutcomeHead({ outcome: o }: { outcome: Outcome }) {
  return (
    <div class="outcome">
      <span class={`tag ${(o.result ?? "").toLowerCase()}`}>{resultWords[o.result ?? "RESULT_UNSPECIFIED"]}</span>
      <span>
        {o.kind} <b>{nameOf(o)}</b>
      </span>
    </div>
  );
}

interface ProgressProps {
  applied: Applied;
  onRollBack: (applied: Applied) => Promise<void>;
}

/** Progress shows the way until every pod is ready, and the reason for a delay. */
export function Progress({ applied: a, onRollBack }: ProgressProps) {
  const ofPods = podsOf(a.outcomes);
  const podOf = (o: Outcome) => pods.value.get(keyOf(o));
  const asked = useSignal(false);
  const back = a.outcomes.filter((o) => a.undo.back.includes(idOf(o)));
  return (
    <>
      <h2>Applied</h2>
      {standing.value.all > 0 && <Wait standing={standing.value} applied={a} />}
      <ul class="outcomes">
        {a.outcomes.map((o) => (
          <li>
            <OutcomeHead outcome={o} />
            {ofPods.includes(o) && <PodProgress outcome={o} pod={podOf(o)} />}
          </li>
        ))}
      </ul>
      {back.length > 0 && (
        <button type="button" onClick={() => (asked.value = true)}>
          Roll back {back.map((o) => o.name).join(", ")}…
        </button>
      )}
      {back.length === 0 && a.undo.left.length > 0 && <p class="hint">Cannot be rolled back: {a.undo.left.join("; ")}.</p>}
      {asked.value && <RollBack undo={a.undo} back={back} act={() => onRollBack(a).then(() => void (asked.value = false))} onClose={() => (asked.value = false)} />}
      <p class="hint">Edit the manifest to plan again.</p>
    </>
  );
}

interface RollBackProps {
  undo: Undo;
  back: readonly Outcome[];
  act: () => Promise<void>;
  onClose: () => void;
}

/** RollBack restores the previous state of a whole bundle. */
function RollBack({ undo, back, act, onClose }: RollBackProps) {
  return (
    <Ask title="Roll back" call={applyManifests()} button="Roll back" act={act} onClose={onClose}>
      <p>{back.map(wordsOf).join(", ")}: as before, by one manifest.</p>
      {undo.left.length > 0 && <p class="hint warn">This stays as it is now. {undo.left.join("; ")}.</p>}
      <details>
        <summary>pod.yaml</summary>
        <CopyButton text={undo.manifest} />
        <Yaml text={undo.manifest} />
      </details>
    </Ask>
  );
}

function Wait({ standing: s, applied: { at, took } }: { standing: Standing; applied: Applied }) {
  const done = s.all - s.waiting - s.trouble;
  const pods = s.all === 1 ? "The pod" : `All ${s.all} pods`;
  return (
    <div class="standing" role="status">
      <p>
        {s.over
          ? `${pods} ${s.all === 1 ? "is" : "are"} as wanted${took ? ` after ${span(took / 1000)}` : ""}.`
          : s.waiting > 0
            ? `Waiting for ${s.waiting} of ${s.all} ${s.all === 1 ? "pod" : "pods"} · `
            : `${s.trouble} of ${s.all} ${s.all === 1 ? "pod is" : "pods are"} in trouble.`}
        {s.waiting > 0 && <Ticking>{age(now.value - at)}</Ticking>}
      </p>
      <Meter aim part={done} whole={s.all} label="Pods that are as wanted" />
    </div>
  );
}

function PodProgress({ outcome, pod }: { outcome: Outcome; pod: Pod | undefined }) {
  if (!pod) return <p class="progress muted">Not there yet.</p>;
  const latest = events.value.find((e) => e.uid === pod.uid);
  const old = outcome.uid && pod.uid !== outcome.uid;
  return (
    <>
      <p class="progress">
        <HealthIcon health={healthOf(pod)} />
        <a href={hrefOf("pods", pod.namespace!, pod.name!)}>{reasonOf(pod)}</a>
        <span class="why">{old ? "the previous pod is ending" : whyOf(pod, probes.value.get(pod.uid ?? ""))}</span>
      </p>
      {latest && stageOf(outcome, pod) !== "ready" && (
        <p class="hint">
          {latest.reason}: {said(latest.message ?? "")}
        </p>
      )}
    </>
  );
}
