// The palette: a few letters lead to any page or pod.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { type Target, targetsFor } from "../pure/palette";
import { through } from "../api/through";
import { podList } from "../state/live";
import { hasNeighbours } from "../state/neighbours";
import { go, hrefOf } from "../state/route";
import { acting, isAdmin, session } from "../state/session";
import { Dialog } from "./dialog";

const page = (label: string, ...path: string[]): Target => ({ label, kind: "page", path });

/** pages returns those that the user has. */
const pages = (): Target[] => [
  page("Node"),
  page("Pods", "pods"),
  page("Events", "events"),
  ...(session.value?.live ? [page("Logs of several pods", "logs"), page("Images", "images"), page("Objects", "objects")] : []),
  ...(hasNeighbours.value && !through ? [page("Nodes", "nodes")] : []),
  ...(isAdmin.value ? [page("Tokens", "tokens")] : []),
  ...(acting.value ? [page("Apply", "apply")] : []),
];

export function Palette({ onClose }: { onClose: () => void }) {
  const text = useSignal("");
  const chosen = useSignal(0);
  const targets = targetsFor(text.value, pages(), podList.value);
  const open = (target: Target | undefined) => {
    if (!target) return;
    onClose();
    go(hrefOf(...target.path));
  };
  const press = (event: JSX.TargetedKeyboardEvent<HTMLInputElement>) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      chosen.value = Math.max(0, Math.min(targets.length - 1, chosen.value + by));
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(targets[chosen.value]);
    }
  };
  const type = (value: string) => {
    text.value = value;
    chosen.value = 0;
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        class="palette-words" autofocus role="combobox" aria-label="A page or a pod" aria-expanded="true" aria-controls="palette" aria-autocomplete="list"
        aria-activedescendant={targets.length ? `palette-${chosen.value}` : undefined} placeholder="Name, label, image, reason" value={text.value} onInput={(e) => type(e.currentTarget.value)} onKeyDown={press}
      />
      <ul id="palette" class="palette" role="listbox" aria-label="Pages and pods">
        {targets.map((target, i) => (
          <li id={`palette-${i}`} role="option" aria-selected={i === chosen.value} class={i === chosen.value ? "on" : ""} onClick={() => open(target)}>
            <b>{target.label}</b> <span class="muted">{target.kind}</span>
          </li>
        ))}
      </ul>
      {targets.length === 0 && <p class="muted">Nothing matches.</p>}
    </Dialog>
  );
}
