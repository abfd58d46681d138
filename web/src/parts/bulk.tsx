// Actions on the pods that are selected in the list.
import { useSignal } from "@preact/signals";
import type { Pod } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { fateOf, fateWords } from "../pure/bulk";
import { type Call, deletePod, restartPod } from "../pure/calls";
import { containersOf, lasts } from "../pure/containers";
import { keyOf, nameOf, objectOf } from "../pure/health";
import { hrefOf } from "../state/route";
import { selected, selectedPods } from "../state/selected";
import { session } from "../state/session";
import { Commands } from "./commands";
import { Dialog } from "./dialog";
import { HealthIcon } from "./icons";

interface Asked {
  what: "restart" | "delete";
  /** The pods at the time of the question. */
  pods: readonly Pod[];
}

export function Bulk() {
  const asked = useSignal<Asked | null>(null);
  const pods = selectedPods.value;
  const close = () => (asked.value = null);
  const ask = (what: Asked["what"]) => (asked.value = { what, pods });
  return (
    <>
      {pods.length > 0 && (
        <div class="bulk" role="toolbar" aria-label="Selected pods">
          <b>{pods.length} selected</b>
          {session.value?.live && (
            <a class="button" href={`${hrefOf("logs")}?pods=${encodeURIComponent(pods.map(keyOf).join(","))}`}>
              Logs
            </a>
          )}
          <button type="button" onClick={() => ask("restart")}>
            Restart…
          </button>
          <button type="button" class="danger" onClick={() => ask("delete")}>
            Delete…
          </button>
          <button type="button" class="quiet" onClick={() => (selected.value = new Map())}>
            Select none
          </button>
        </div>
      )}
      {asked.value?.what === "restart" && <RestartAll pods={asked.value.pods} onClose={close} />}
      {asked.value?.what === "delete" && <DeleteAll pods={asked.value.pods} onClose={close} />}
    </>
  );
}

interface Deed {
  pod: Pod;
  /** null: nothing is done to this pod. */
  call: Call | null;
  words: string;
}

function RestartAll({ pods, onClose }: { pods: readonly Pod[]; onClose: () => void }) {
  const deeds = pods.map((pod): Deed => {
    const count = containersOf(objectOf(pod)).filter(lasts).length;
    return pod.deletionDeadline ? { pod, call: null, words: "stays: it is going already" } : { pod, call: restartPod(pod, ""), words: count === 1 ? "1 container" : `${count} containers` };
  });
  return (
    <Deeds title={`Restart ${counted(deeds)}`} button="Restart" deeds={deeds} onClose={onClose}>
      Each container is stopped within its grace period and started again. Pods keep their addresses and volumes.
    </Deeds>
  );
}

function DeleteAll({ pods, onClose }: { pods: readonly Pod[]; onClose: () => void }) {
  const deeds = pods.map(fateOf).map((fate): Deed => {
    const grace = String(objectOf(fate.pod).spec?.["terminationGracePeriodSeconds"] ?? 30);
    return { pod: fate.pod, call: fate.stays ? null : deletePod(fate.pod, grace), words: fateWords(fate) };
  });
  return (
    <Deeds title={`Delete ${counted(deeds)}`} button="Delete" danger deeds={deeds} onClose={onClose}>
      Their containers are asked to stop and, once the time of each pod is up, killed.
    </Deeds>
  );
}

const many = (n: number) => (n === 1 ? "1 pod" : `${n} pods`);
const counted = (deeds: readonly Deed[]) => many(deeds.filter((deed) => deed.call).length);

interface DeedsProps {
  title: string;
  button: string;
  danger?: boolean;
  deeds: readonly Deed[];
  onClose: () => void;
  children: string;
}

/** Deeds shows what happens to each pod, does it one after the other, and says what came of it. */
function Deeds({ title, button, danger, deeds, onClose, children }: DeedsProps) {
  const outcomes = useSignal<ReadonlyMap<string, string>>(new Map()); // by name of pod; empty: it went well
  const state = useSignal<"asked" | "busy" | "done">("asked");
  const act = async (event: Event) => {
    event.preventDefault();
    state.value = "busy";
    for (const { pod, call } of deeds) {
      if (!call) continue;
      const problem = await perform(call).then(() => "", messageOf);
      outcomes.value = new Map([...outcomes.value, [keyOf(pod), problem]]);
    }
    state.value = "done";
    // What went well is not selected any more.
    selected.value = new Map([...selected.value].filter(([key]) => outcomes.value.get(key) !== ""));
  };
  const calls = deeds.flatMap(({ call }) => call ?? []);
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(e) => void act(e)}>
        <p>{children}</p>
        <ul class="prune" tabIndex={0} aria-label="What happens to each pod">
          {deeds.map(({ pod, call, words }) => (
            <li key={keyOf(pod)}>
              <b>{nameOf(pod)}</b>
              <Outcome problem={outcomes.value.get(keyOf(pod))} />
              <span class="muted">{call ? words : <em>{words}</em>}</span>
            </li>
          ))}
        </ul>
        {calls.length > 0 && state.value === "asked" && <Commands call={calls} />}
        <footer>
          {state.value === "done" ? (
            <button type="button" class="primary" onClick={onClose}>
              Done
            </button>
          ) : (
            <button type="submit" class={danger ? "danger" : "primary"} disabled={calls.length === 0 || state.value === "busy"}>
              {button} {many(calls.length)}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

function Outcome({ problem }: { problem: string | undefined }) {
  if (problem === undefined) return <span />;
  return (
    <span class={problem ? "bulk-problem" : ""} role="status">
      <HealthIcon health={problem ? "failed" : "done"} /> {problem || "done"}
    </span>
  );
}
