// Commands that do the same without this page.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Pod } from "../api/gen";
import { through } from "../api/through";
import type { Call, Conversation } from "../pure/calls";
import { type Forms, formsOf, forwardForms, methodWords } from "../pure/forms";
import { copy } from "../state/clipboard";
import { showsCommands } from "../state/commands";
import { session } from "../state/session";
import { Icon } from "./icons";
import { Popover } from "./popover";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const said = useSignal("");
  const press = async () => {
    said.value = (await copy(text)) ? "Copied" : "Not copied";
    setTimeout(() => (said.value = ""), 1500);
  };
  return (
    <button type="button" class="quiet" aria-label={label ? undefined : "Copy"} onClick={() => void press()} aria-live="polite">
      <Icon name="copy" /> {said.value || label}
    </button>
  );
}

const ofKubectl = "kubectl talks to a cluster's API server, not to this page. This is the same command there.";

/** Asked is a call of the page, or several. */
type Asked = Call | Conversation | readonly Call[];

export function Commands({ call }: { call: Asked }) {
  const setUp = session.value?.live && <SetUp />;
  return <CommandForms forms={formsOf(call, location.origin)} hints={{ curl: setUp, grpcurl: setUp, kubectl: ofKubectl }} />;
}

/** SetUp shows the preparation that the other commands need. */
function SetUp() {
  const commands = `TOKEN=$(sudo cat /var/lib/kubelet/credentials/${session.value?.role ?? "admin"}.token)\nsudo cp /var/lib/kubelet/pki/ca.crt .`;
  return (
    <details>
      <summary>Where ca.crt and $TOKEN come from</summary>
      <div class="set-up">
        <pre>{commands}</pre>
        <CopyButton text={commands} label="" />
      </div>
      They are on the node, below its --root-dir.
    </details>
  );
}

const cannot: Forms = {
  curl: "curl cannot do this: data goes both ways. The page uses a WebSocket on the kubelet's own path.",
  grpcurl: "The read-only port has no gRPC; use the node's TLS port.",
  kubectl: "kubectl has no command for this.",
};

/** CommandForms shows one call as commands of several programs. */
function CommandForms({ forms, hints }: { forms: Forms; hints: Record<string, ComponentChildren> }) {
  const there = Object.keys(forms).filter((name) => forms[name] || cannot[name]);
  const which = useSignal(there.find((name) => forms[name])!);
  const text = forms[which.value];
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
        {text && <CopyButton text={text} />}
      </div>
      {text ? (
        <>
          <pre tabIndex={0}>{text}</pre>
          {hints[which.value] && <div class="hint">{hints[which.value]}</div>}
        </>
      ) : (
        <p class="hint">{cannot[which.value]}</p>
      )}
    </div>
  );
}

/** ApiButton shows the commands for the data on the page, if the user wants to see any. Those for another node would have to be typed for its address. Its label names the call: "API: list pods". */
export function ApiButton({ call }: { call: Asked }) {
  if (!showsCommands.value || through) return null;
  const button = (
    <>
      <Icon name="code" /> API: {methodWords([call].flat()[0]?.rpc)}
    </>
  );
  return (
    <Popover button={button} title="The same with curl, grpcurl or kubectl" label="The same on the command line">
      <Commands call={call} />
    </Popover>
  );
}

const forwardHints = {
  "on the node": "The pod's own address, which only the machine itself can reach.",
  kubectl: ofKubectl,
  grpcurl: "One connection through the node's API, with the bytes in base64.",
};

/** ForwardButton shows how to reach a port of a pod from elsewhere. */
export function ForwardButton({ pod, port, http }: { pod: Pod; port: number; http: boolean }) {
  if (through) return null;
  const forms = forwardForms({ namespace: pod.namespace!, name: pod.name!, ip: pod.podIps?.[0] ?? "", port, http }, location.origin);
  return (
    <Popover button="Connect…" name={`Connect: port ${port}`} look="link-button" label={`Connect to port ${port}`} kind="from-left">
      <CommandForms forms={forms} hints={forwardHints} />
    </Popover>
  );
}
