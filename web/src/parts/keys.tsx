// Keyboard shortcuts, and the list of them.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Dialog } from "./dialog";

/** isTyping reports whether the focused element takes the key, even within a shadow root like the editor's. */
export function isTyping(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0] as HTMLElement;
  return at.matches("input, textarea, select") || at.isContentEditable;
}

/** isCommand reports whether the key belongs to the browser or to an open dialog. */
export const isCommand = (event: KeyboardEvent) => event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]") !== null;

const keys: Array<[string[], string]> = [
  [["/"], "search pods"],
  [["j", "k", "↓", "↑"], "go through the pods, or the lines of a log"],
  [["⏎"], "open the pod, or the line"],
  [["l", "t", "r", "e", "y"], "the pod's logs, a terminal, its record, its events, its YAML"],
  [["Ctrl ⏎"], "apply what is in the editor"],
  [["Esc", "Tab"], "leave the editor (in a terminal: ⇧ Tab)"],
  [["?"], "this list"],
];

/** KeyHelp shows the list of keys, by a button or the key "?". */
export function KeyHelp() {
  const open = useSignal(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "?" && !isTyping(event) && !isCommand(event)) open.value = true;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button type="button" class="quiet only-icon keys" title="Keys" aria-label="Keys" onClick={() => (open.value = true)}>
        <kbd>?</kbd>
      </button>
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
