// How to do the same without this page.
import { useSignal } from "@preact/signals";
import type { Pod } from "../api/gen";
import { type Call, formsOf, forwardForms } from "../pure/forms";
import { Icon } from "./icons";
import { Popover } from "./popover";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const done = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => fallbackCopy(text));
    done.value = true;
    setTimeout(() => (done.value = false), 1500);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()} aria-live="polite">
      <Icon name="copy" /> {done.value ? "Copied" : label}
    </button>
  );
}

/** Without TLS browsers have no clipboard. */
function fallbackCopy(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

const ofKubectl = "kubectl speaks to a cluster's API server, which this node's page is not: this is what the same thing is called there.";

export function Commands({ call }: { call: Call }) {
  const { curl, grpcurl, kubectl } = formsOf(call, location.origin);
  return <CommandForms forms={{ curl, grpcurl, kubectl }} hints={{ kubectl: ofKubectl }} />;
}

/** CommandForms is one thing in the words of several programs; those without words are left out. */
function CommandForms({ forms, hints }: { forms: Record<string, string>; hints: Record<string, string> }) {
  const there = Object.keys(forms).filter((name) => forms[name]);
  const which = useSignal(there[0]!);
  const text = forms[which.value] ?? "";
  return (
    <div class="commands">
      <div class="commands-head">
        <div class="segments" role="group" aria-label="Client">
          {there.map((name) => (
            <button type="button" aria-pressed={which.value === name} onClick={() => (which.value = name)}>
              {name}
            </button>
          ))}
        </div>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0}>{text}</pre>
      {hints[which.value] && <p class="hint">{hints[which.value]}</p>}
    </div>
  );
}

/** ApiButton shows the commands behind what is on the page. */
export function ApiButton({ call }: { call: Call }) {
  const button = (
    <>
      <Icon name="code" /> API
    </>
  );
  return (
    <Popover button={button} title="The same by curl, grpcurl or kubectl" label="The same by command">
      <Commands call={call} />
    </Popover>
  );
}

const forwardHints = {
  "on the node": "The pod's own address, which the machine itself can reach.",
  kubectl: ofKubectl,
  grpcurl: "One connection through the node's API: bytes go and come in base64.",
};

/** ForwardButton tells how a port of a pod is reached from elsewhere. */
export function ForwardButton({ pod, port, http }: { pod: Pod; port: number; http: boolean }) {
  const forms = forwardForms({ namespace: pod.namespace!, name: pod.name!, ip: pod.podIps?.[0] ?? "", port, http }, location.origin);
  return (
    <Popover button="Reach it" name={`Reach it: port ${port}`} look="link-button" label={`How port ${port} is reached`} kind="from-left">
      <CommandForms forms={forms} hints={forwardHints} />
    </Popover>
  );
}
