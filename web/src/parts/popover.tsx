// What opens below a button, and closes by it, by Escape, or when one goes elsewhere.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  /** What the button shows, and what it is called where that says too little. */
  button: ComponentChildren;
  name?: string;
  title?: string;
  look?: "quiet" | "link-button";
  /** What the popover is called. */
  label: string;
  kind?: "from-left" | "menu";
  children: ComponentChildren;
}

export function Popover({ button, name, title, look = "quiet", label, kind, children }: Props) {
  const open = useSignal(false);
  const anchor = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!open.value) return;
    const elsewhere = (event: Event) => !anchor.current?.contains(event.target as Node) && (open.value = false);
    addEventListener("pointerdown", elsewhere);
    return () => removeEventListener("pointerdown", elsewhere);
  }, [open.value]);
  const close = (event: JSX.TargetedKeyboardEvent<HTMLElement>) => {
    if (event.key !== "Escape" || !open.value) return;
    open.value = false;
    anchor.current?.querySelector("button")?.focus();
  };
  /** leave waits for where the focus goes: who copies has it back at once, and a press on plain text has it go to what is around. */
  const leave = () =>
    setTimeout(() => {
      const at = document.activeElement;
      if (!at?.contains(anchor.current) && !anchor.current?.contains(at)) open.value = false;
    });
  return (
    <span class="popover-anchor" ref={anchor} onKeyDown={close} onFocusOut={leave}>
      <button type="button" class={look} aria-expanded={open.value} aria-label={name} title={title} onClick={() => (open.value = !open.value)}>
        {button}
      </button>
      {open.value && (
        <div class={`popover ${kind ?? ""}`} role="dialog" aria-label={label}>
          {children}
        </div>
      )}
    </span>
  );
}
