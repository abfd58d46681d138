// A node that takes no new pods: since when, why, and how it takes them again.
import { useSignal } from "@preact/signals";
import type { CordonState, GetNodeResponse } from "../api/gen";
import { perform } from "../api/request";
import { cordonNode, uncordonNode } from "../pure/calls";
import { full, since } from "../pure/time";
import { now } from "../state/clock";
import { canAdmin } from "../state/session";
import { Ask } from "./ask";
import { HealthIcon } from "./icons";

export function Cordon({ cordon }: { cordon: CordonState }) {
  return (
    <section class="alarm" aria-label="Cordon">
      <h2>
        <HealthIcon health="leaving" /> The node takes no new pods
      </h2>
      <p>
        {cordon.reason && <b>{cordon.reason}, </b>}
        <span title={cordon.sinceAt && full(cordon.sinceAt)}>for {since(cordon.sinceAt, now.value)}</span>. The pods that are there run on, and may be changed.
      </p>
    </section>
  );
}

/** CordonButton is for admins: an operator may not close the node. */
export function CordonButton({ node }: { node: GetNodeResponse }) {
  const asked = useSignal<"cordon" | "uncordon" | null>(null);
  if (!canAdmin.value) return null;
  const close = () => (asked.value = null);
  return (
    <>
      <button type="button" onClick={() => (asked.value = node.cordon ? "uncordon" : "cordon")}>
        {node.cordon ? "Uncordon…" : "Cordon…"}
      </button>
      {asked.value === "cordon" && <Close name={node.name ?? ""} onClose={close} />}
      {asked.value === "uncordon" && <Reopen name={node.name ?? ""} onClose={close} />}
    </>
  );
}

const longest = 256; // bytes of a reason

function Close({ name, onClose }: { name: string; onClose: () => void }) {
  const reason = useSignal("");
  const call = cordonNode(name, reason.value.trim());
  const act = async () => {
    await perform(call);
    onClose();
  };
  return (
    <Ask title={`Cordon ${name}`} call={call} button="Cordon the node" act={act} onClose={onClose}>
      <p>The node refuses new pods of its API until it is uncordoned. Pods that are there run on and may be changed; pods of files still come.</p>
      <label class="field">
        Reason
        <input type="text" maxLength={longest} placeholder="for those who find it closed" value={reason.value} onInput={(e) => (reason.value = e.currentTarget.value)} />
      </label>
    </Ask>
  );
}

function Reopen({ name, onClose }: { name: string; onClose: () => void }) {
  const call = uncordonNode(name);
  const act = async () => {
    await perform(call);
    onClose();
  };
  return (
    <Ask title={`Uncordon ${name}`} call={call} button="Uncordon the node" act={act} onClose={onClose}>
      <p>The node takes new pods again.</p>
    </Ask>
  );
}
