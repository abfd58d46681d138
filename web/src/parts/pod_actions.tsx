// The actions on a pod.
import { useSignal } from "@preact/signals";
import type { Pod, RestartPodResponse } from "../api/gen";
import { perform } from "../api/request";
import { deletePod, restartPod } from "../pure/calls";
import { containersOf, lasts } from "../pure/containers";
import { keyOf, objectOf } from "../pure/health";
import { idOf } from "../pure/undo";
import { undoFor } from "../state/applied";
import { pods } from "../state/live";
import { go, hrefOf } from "../state/route";
import { Ask } from "./ask";

interface Asked {
  what: "restart" | "delete";
  /** The pod at the time of the question: a successor of the same name is not meant. */
  pod: Pod;
}

/** PodActions shows the actions while the pod exists. An open question stays open after that. */
export function PodActions({ pod, gone }: { pod: Pod; gone: boolean }) {
  const asked = useSignal<Asked | null>(null);
  const close = () => (asked.value = null);
  return (
    <>
      {!gone && <Actions pod={pod} ask={(what) => (asked.value = { what, pod })} />}
      {asked.value?.what === "restart" && <Restart pod={asked.value.pod} onClose={close} />}
      {asked.value?.what === "delete" && <Delete pod={asked.value.pod} onClose={close} />}
    </>
  );
}

function Actions({ pod, ask }: { pod: Pod; ask: (what: Asked["what"]) => void }) {
  const own = pod.source === "api";
  const id = idOf({ kind: "Pod", namespace: pod.namespace!, name: pod.name! });
  return (
    <div class="actions">
      <button type="button" onClick={() => ask("restart")} disabled={!!pod.deletionDeadline}>
        Restart…
      </button>
      {own && undoFor(id) && (
        <a class="button" title="Review the version before your last change, and apply it" href={`${hrefOf("apply")}?undo=${encodeURIComponent(id)}`}>
          Roll back…
        </a>
      )}
      {own && (
        <a class="button" href={`${hrefOf("apply")}?from=${encodeURIComponent(keyOf(pod))}`}>
          Edit…
        </a>
      )}
      <button type="button" class="danger" onClick={() => ask("delete")} disabled={!own} title={own ? undefined : `The pod comes from ${pod.source}: remove it there`}>
        Delete…
      </button>
    </div>
  );
}

function Restart({ pod, onClose }: { pod: Pod; onClose: () => void }) {
  const container = useSignal("");
  const names = containersOf(objectOf(pod)).filter(lasts).map((c) => c.name);
  const call = restartPod(pod, container.value);
  const act = async () => {
    await perform<RestartPodResponse>(call);
    onClose();
  };
  return (
    <Ask title={`Restart ${pod.name}`} call={call} button="Restart" act={act} onClose={onClose}>
      <p>Each container is stopped within its grace period and started again. The pod keeps its address and its volumes.</p>
      <label class="field">
        What
        <select value={container.value} onChange={(e) => (container.value = e.currentTarget.value)}>
          <option value="">the whole pod</option>
          {names.map((name) => (
            <option value={name}>container {name}</option>
          ))}
        </select>
      </label>
    </Ask>
  );
}

function Delete({ pod, onClose }: { pod: Pod; onClose: () => void }) {
  const own = Number(objectOf(pod).spec?.["terminationGracePeriodSeconds"] ?? 30);
  const grace = useSignal(String(own));
  const call = deletePod(pod, grace.value || String(own));
  const act = async () => {
    await perform(call);
    onClose();
    if (!pods.value.has(keyOf(pod))) go(hrefOf("pods"));
  };
  return (
    <Ask title={`Delete ${pod.name}`} call={call} button="Delete the pod" danger act={act} onClose={onClose}>
      <p>
        Its containers are asked to stop and, once the time is up, killed. What it wrote into its own volumes goes with it.
      </p>
      <label class="field">
        Seconds to stop in
        <input type="number" min={0} max={86_400} required value={grace.value} onInput={(e) => (grace.value = e.currentTarget.value)} />
      </label>
      {grace.value === "0" && <p class="hint">Without time to stop, containers are killed at once and may lose data.</p>}
    </Ask>
  );
}
