// Write or paste a manifest, see its plan, then apply it and watch the result.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ApplyResponse, ListCapabilitiesResponse, ListImagesResponse, Outcome, PlanResponse } from "../api/gen";
import { nodeTime } from "../api/node_time";
import { ApiError, get, messageOf, perform } from "../api/request";
import { OutcomeHead, Progress } from "../parts/apply_progress";
import { ApiButton, Commands } from "../parts/commands";
import { Editor } from "../parts/editor";
import { applyManifests, listCapabilities, listImages, planManifests } from "../pure/calls";
import type { Known } from "../pure/complete";
import { sidesOf } from "../pure/diff";
import { type Manifest, objectFor, objectsOf } from "../pure/documents";
import { examples } from "../pure/manifest";
import { idOf, undoOf } from "../pure/undo";
import { toYaml } from "../pure/yaml";
import { applied, remember, undoFor } from "../state/applied";
import { link } from "../state/link";
import { kindOf } from "../state/objects";
import { applyRead, Overtaken, present, type Reading, reading, readForEdit, readPod } from "../state/reading";
import { place } from "../state/route";
import { onLeaving } from "../state/session";
import { readStanding } from "../state/standing";

interface Plan {
  outcomes: Outcome[];
  /** The present state of what would change, by id. */
  there: ReadonlyMap<string, object>;
  /** The wanted state. */
  wanted: readonly Manifest[];
  problem: string;
  violations: ApiError["violations"];
}

const noPlan: Plan = { outcomes: [], there: new Map(), wanted: [], problem: "", violations: [] };

/** draft keeps the text while the user visits other pages. */
let draft = "";
onLeaving(() => (draft = ""));

export function ApplyEditor() {
  const text = useSignal(draft);
  const plan = useSignal<Plan>(noPlan);
  const planning = useSignal(false);
  const busy = useSignal(false);
  const overtaken = useSignal(false);
  const known = useSignal<Known>({ schemas: {}, capabilities: [] });
  useEffect(() => {
    void readKnown().then((all) => (known.value = all), () => {}); // without it nothing is completed
    const query = place.value.query;
    const [ofPod = "", pod = ""] = (query.get("from") ?? "").split("/");
    if (pod) void edit(readPod({ namespace: ofPod, name: pod }));
    const undo = undoFor(query.get("undo") ?? "");
    if (undo) put(undo.manifest);
    const [kind = "", namespace = "", name = ""] = (query.get("object") ?? "").split("/");
    const info = kindOf(kind);
    if (info) void edit(readForEdit(info, { namespace, name }));
  }, []);
  const turn = useSignal(0);
  const round = useSignal(0);
  const write = (value: string) => {
    text.value = draft = value;
    applied.value = null;
  };
  const put = (value: string) => {
    reading.value = null;
    overtaken.value = false;
    write(value);
    turn.value++;
  };
  const edit = (asked: Promise<Reading>) =>
    asked.then(
      (read) => {
        put(read.text);
        reading.value = read;
      },
      (error: unknown) => void (plan.value = problemOf(error)),
    );
  usePlan(text.value, round.value, plan, planning);
  const apply = async () => {
    if (busy.value) return; // a held key repeats
    busy.value = true;
    const { outcomes } = plan.value;
    overtaken.value = false;
    await applyRead(text.value, (since) => send(text.value, outcomes, since)).catch((error: unknown) => {
      overtaken.value = error instanceof Overtaken;
      plan.value = { ...problemOf(error), outcomes };
    });
    busy.value = false;
  };
  /** goOn takes the present state for the one that was read, and shows what would change now. */
  const goOn = async () => {
    reading.value = await present(reading.value!);
    overtaken.value = false;
    round.value++;
  };
  const drops = useDrop(put);
  // After a failed attempt the same plan may be applied again.
  const ready = !applied.value && plan.value.outcomes.length > 0 && !planning.value;
  return (
    <div class="page">
      <Head put={put} />
      <div class="apply-columns">
        <div class="apply-editor" {...drops}>
          <Editor text={text.value} turn={turn.value} onText={write} onSubmit={() => ready && void apply()} known={known.value} violations={plan.value.violations} />
        </div>
        <div class="apply-plan" aria-live="polite">
          {applied.value ? (
            <Progress applied={applied.value} onRollBack={({ outcomes, undo }) => send(undo.manifest, outcomes)} />
          ) : (
            <>
              <div class="section-head">
                <h2>{planning.value ? "Asking the node…" : "What it would do"}</h2>
                <ApiButton call={planManifests()} />
              </div>
              <PlanView plan={plan.value} text={text.value} />
              {overtaken.value && (
                <p>
                  Nothing was applied. <button type="button" class="link-button" onClick={() => void edit(reading.value!.again().then((now) => ({ ...reading.value!, ...now })))}>Read it again</button>, which drops your edits, or{" "}
                  <button type="button" class="link-button" onClick={() => void goOn().catch((error: unknown) => (plan.value = problemOf(error)))}>plan against the present state</button>.
                </p>
              )}
              <button type="button" class="primary" disabled={!ready || busy.value} onClick={() => void apply()}>
                Apply <kbd>Ctrl ⏎</kbd>
              </button>
              {ready && <Commands call={applyManifests()} />}
            </>
          )}
        </div>
      </div>
    </div>
  );
}

interface OpenApi {
  components: { schemas: Known["schemas"] };
}

/** readKnown reads what the node knows of manifests: their fields, and how it treats them. */
async function readKnown(): Promise<Known> {
  const [{ components }, { capabilities = [] }] = await Promise.all([get<OpenApi>("/openapi.json"), perform<ListCapabilitiesResponse>(listCapabilities())]);
  return { schemas: components.schemas, capabilities };
}

/** send applies a bundle, and keeps the previous state of everything that it may change. */
async function send(manifest: string, mayChange: readonly Outcome[], since = ""): Promise<void> {
  const before = await readStanding(mayChange);
  const { outcomes = [] } = await perform<ApplyResponse>(applyManifests(since), manifest);
  remember({ outcomes, undo: undoOf(outcomes, before), at: nodeTime() });
}

function Head({ put }: { put: (text: string) => void }) {
  const image = useSignal("busybox");
  useEffect(() => {
    void perform<ListImagesResponse>(listImages("")).then((answer) => (image.value = imageOf(answer) ?? image.value), () => {});
  }, []);
  const all = examples(image.value);
  return (
    <div class="page-head">
      <h1>Apply</h1>
      <p class="sub">Paste a manifest or drop a file. All documents in it are applied together, or none.</p>
      <div class="page-tools">
        <select aria-label="Examples" value="" onChange={(e) => (put(all[Number(e.currentTarget.value)]!.text), (e.currentTarget.value = ""))}>
          <option value="" disabled>
            Examples
          </option>
          {all.map((example, i) => (
            <option value={i}>{example.name}</option>
          ))}
        </select>
      </div>
    </div>
  );
}

/** imageOf returns an image that pods can run, preferably one with a shell. It never returns the sandbox image. */
function imageOf(answer: ListImagesResponse): string | undefined {
  const names = (answer.images ?? []).filter((i) => !i.pinned).flatMap((i) => i.references ?? []);
  return names.find((name) => /busybox|alpine|debian|ubuntu/.test(name)) ?? names[0];
}

/** usePlan plans the text a moment after the last key, and again when the node is back. */
function usePlan(text: string, round: number, plan: { value: Plan }, planning: { value: boolean }) {
  const turn = useRef(0);
  const away = link.value.state === "lost";
  useEffect(() => {
    const mine = ++turn.current;
    if (!text.trim()) {
      plan.value = noPlan;
      planning.value = false;
      return;
    }
    planning.value = true;
    const timer = setTimeout(() => {
      perform<PlanResponse>(planManifests(), text)
        .then(async ({ outcomes = [] }) => ({ ...noPlan, outcomes, there: await readStanding(outcomes), wanted: objectsOf(text) }))
        .catch(problemOf)
        .then((next) => {
          if (mine !== turn.current) return;
          plan.value = next;
          planning.value = false;
        });
    }, 250);
    return () => clearTimeout(timer);
  }, [text, round, away]);
}

const problemOf = (error: unknown): Plan => ({ ...noPlan, problem: messageOf(error), violations: error instanceof ApiError ? error.violations : [] });

function useDrop(put: (text: string) => void) {
  return {
    onDragOver: (event: DragEvent) => event.preventDefault(),
    onDrop: (event: DragEvent) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      void file.text().then(put);
    },
  };
}

function PlanView({ plan, text }: { plan: Plan; text: string }) {
  if (plan.violations.length > 0) {
    return (
      <ul class="violations">
        {plan.violations.map((v) => (
          <li>
            <code>{v.field.replace(/^document \d+ \(([^)]*)\)(: )?/, "$1 · ")}</code>
            <p>{v.description}</p>
          </li>
        ))}
      </ul>
    );
  }
  if (plan.problem) return <p class="problem" role="alert">{plan.problem}</p>;
  if (!text.trim()) return <p class="muted">The manifest is empty. The examples above work as they are.</p>;
  return (
    <ul class="outcomes">
      {plan.outcomes.map((o) => (
        <li>
          <OutcomeHead outcome={o} />
          <Diff outcome={o} there={plan.there.get(idOf(o))} wanted={objectFor(plan.wanted, o)} />
          {(o.restarts?.length ?? 0) > 0 && <p class="hint">Restarts {o.restarts!.join(", ")}.</p>}
          {o.warnings?.map((w) => <p class="hint warn">{w}</p>)}
        </li>
      ))}
    </ul>
  );
}

interface DiffProps {
  outcome: Outcome;
  there: object | undefined;
  wanted: Manifest | undefined;
}

/** Diff shows each changed field, before and after. */
function Diff({ outcome, there, wanted }: DiffProps) {
  if (!outcome.changes?.length) return null;
  return (
    <div class="diff">
      {outcome.changes.map((field) => {
        const sides = sidesOf(outcome.kind ?? "", field, there, wanted);
        return (
          <div>
            <code class="diff-field">{field}</code>
            <Side sign="-" value={sides.old} />
            <Side sign="+" value={sides.new} />
          </div>
        );
      })}
    </div>
  );
}

function Side({ sign, value }: { sign: "-" | "+"; value: unknown }) {
  if (value === undefined) return null;
  const lines = toYaml(value).trimEnd().split("\n");
  return (
    <pre class={sign === "-" ? "old" : "new"}>
      {lines.slice(0, 40).map((line) => `${sign} ${line}\n`)}
      {lines.length > 40 && `  … ${lines.length - 40} more lines`}
    </pre>
  );
}
