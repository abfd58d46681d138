// Keyboard shortcuts, and the list of them.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { go, hrefOf } from "../state/route";
import { Dialog } from "./dialog";
import { lazily } from "./lazily";

/** isTyping reports whether the focused element takes the key, even within a shadow root like the editor's. */
export function isTyping(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0] as HTMLElement;
  return at.matches("input:not([type=checkbox]), textarea, select") || at.isContentEditable;
}

/** isCommand reports whether the key belongs to the browser or to an open dialog. */
export const isCommand = (event: KeyboardEvent) => event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]") !== null;

const Palette = lazily(() => import("./palette").then((m) => m.Palette));

/** tabKeys open a tab of a pod: on its page, and in the list of pods. */
export const tabKeys: Record<string, string> = { l: "logs", t: "terminal", r: "record", e: "events", y: "yaml" };

/** usePodKeys makes the keys work on a pod's page. */
export function usePodKeys({ namespace, name }: { namespace: string; name: string }) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const tab = tabKeys[event.key];
      // A log and a terminal have keys of their own.
      if (!tab || isTyping(event) || isCommand(event) || (event.target as Element).closest(".log-box, .terminal-box")) return;
      go(hrefOf("pods", namespace, name, tab));
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [namespace, name]);
}

const keys: Array<[string[], string]> = [
  [["Ctrl K"], "go to a page or a pod by a few letters"],
  [["/"], "search what the page lists, or the pods"],
  [["j", "k", "↓", "↑"], "go through the pods, or the lines of a log"],
  [["x"], "select the pod, to act on several"],
  [["⏎"], "open the pod, or the line"],
  [["l", "t", "r", "e", "y"], "the pod's logs, a terminal, its record, its events, its YAML"],
  [["Ctrl ⏎"], "apply what is in the editor"],
  [["Esc", "Tab"], "leave the editor (in a terminal: ⇧ Tab)"],
  [["?"], "this list"],
];

/** search moves to the page's search field; a page without one leads to the list of pods. */
function search() {
  const field = document.querySelector<HTMLElement>('main input[type="search"]');
  if (field) return field.focus();
  go(hrefOf("pods"));
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>('main input[type="search"]')?.focus()));
}

/** KeyHelp shows the list of keys, by a button or the key "?". */
export function KeyHelp() {
  const open = useSignal(false);
  const going = useSignal(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        going.value = true;
      }
      if (isTyping(event) || isCommand(event)) return;
      if (event.key === "?") open.value = true;
      if (event.key === "/") {
        event.preventDefault();
        search();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button type="button" class="quiet only-icon keys" title="Keys" aria-label="Keys" onClick={() => (open.value = true)}>
        <kbd>?</kbd>
      </button>
      {going.value && <Palette onClose={() => (going.value = false)} />}
      {open.value && (
        <Dialog title="Keys" onClose={() => (open.value = false)}>
          <dl class="facts key-list">
            {keys.map(([names, does]) => (
              <div>
                <dt>
                  {names.map((name) => (
                    <kbd>{name}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
