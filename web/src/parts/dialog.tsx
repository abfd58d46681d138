// A modal dialog. The browser keeps the focus inside.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current!;
    dialog.showModal();
    return () => dialog.close(); // it also gives the focus back
  }, []);
  return (
    <dialog ref={box} aria-label={title} onClose={onClose} onClick={(e) => e.target === box.current && box.current?.close()}>
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet only-icon" aria-label="Close" onClick={() => box.current?.close()}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
