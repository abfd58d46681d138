// How to do the same without this page.
import { useSignal } from "@preact/signals";
import { type Call, formsOf } from "../pure/forms";
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

const chosen = ["curl", "grpcurl", "kubectl"] as const;

export function Commands({ call }: { call: Call }) {
  const which = useSignal<(typeof chosen)[number]>("curl");
  const forms = formsOf(call, location.origin);
  const there = chosen.filter((name) => forms[name]);
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
        <CopyButton text={forms[which.value]} />
      </div>
      <pre tabIndex={0}>{forms[which.value]}</pre>
      {which.value === "kubectl" && <p class="hint">kubectl speaks to a cluster's API server, which this node's page is not: this is what the same thing is called there.</p>}
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
