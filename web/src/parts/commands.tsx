// How to do the same without this page.
import { useSignal } from "@preact/signals";
import type { Pod } from "../api/gen";
import { type Call, formsOf, forwardForms } from "../pure/forms";
import { Icon } from "./icons";

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
export function CommandForms({ forms, hints }: { forms: Record<string, string>; hints: Record<string, string> }) {
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
export function ApiButton({ call, label = "API" }: { call: Call; label?: string }) {
  const open = useSignal(false);
  return (
    <span class="popover-anchor">
      <button type="button" class="quiet" aria-expanded={open.value} title="The same by curl, grpcurl or kubectl" onClick={() => (open.value = !open.value)}>
        <Icon name="code" /> {label}
      </button>
      {open.value && (
        <div class="popover" role="dialog" aria-label="The same by command" onKeyDown={(e) => e.key === "Escape" && (open.value = false)}>
          <Commands call={call} />
        </div>
      )}
    </span>
  );
}

/** ForwardButton tells how a port of a pod is reached from elsewhere. */
export function ForwardButton({ pod, port, http }: { pod: Pod; port: number; http: boolean }) {
  const open = useSignal(false);
  const forms = forwardForms({ namespace: pod.namespace!, name: pod.name!, ip: pod.podIps?.[0] ?? "", port, http }, location.origin);
  return (
    <span class="popover-anchor">
      <button type="button" class="link-button" aria-expanded={open.value} aria-label={`Reach it: port ${port}`} onClick={() => (open.value = !open.value)}>
        Reach it
      </button>
      {open.value && (
        <div class="popover from-left" role="dialog" aria-label={`How port ${port} is reached`} onKeyDown={(e) => e.key === "Escape" && (open.value = false)}>
          <CommandForms forms={forms} hints={{ "on the node": "The pod's own address, which the machine itself can reach.", kubectl: ofKubectl, grpcurl: "One connection through the node's API: bytes go and come in base64." }} />
        </div>
      )}
    </span>
  );
}
