// A question before an action.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { messageOf } from "../api/request";
import type { Call } from "../pure/calls";
import { Commands } from "./commands";
import { Dialog } from "./dialog";

interface Props {
  title: string;
  /** The call of the action, shown for other clients too; null: it is done already. */
  call: Call | null;
  button: string;
  danger?: boolean;
  disabled?: boolean;
  act: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

/** Ask shows an action with its call, performs it, and stays open to show an error. */
export function Ask({ title, call, button, danger, disabled, act, onClose, children }: Props) {
  const problem = useSignal("");
  const busy = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    problem.value = "";
    await act().catch((error: unknown) => (problem.value = messageOf(error)));
    busy.value = false;
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(e) => void submit(e)}>
        {children}
        {call && <Commands call={call} />}
        {problem.value && <p class="problem" role="alert">{problem.value}</p>}
        <footer>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={disabled || busy.value}>
            {button}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
