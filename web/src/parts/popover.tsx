// A box below a button. The button, Escape, or a click elsewhere closes it.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  /** The content of the button, and its accessible name if the content says too little. */
  button: ComponentChildren;
  name?: string;
  title?: string;
  look?: "quiet" | "link-button";
  /** The accessible name of the popover. */
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
  /**
   * leave closes the popover if the focus goes elsewhere. Copying returns the focus at once, and a
   * click on plain text moves it to the surrounding element.
   */
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
