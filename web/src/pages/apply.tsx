// Apply. The editor is large, so the page is loaded separately.
import { lazily } from "../parts/lazily";
import { canWrite, may } from "../state/session";

const Apply = lazily(() => import("./apply_editor").then((m) => m.ApplyEditor));

export function AddPage() {
  if (!canWrite.value) {
    return (
      <div class="page">
        <h1>Apply</h1>
        <p>{may("write") ? "Applying a manifest changes the node: turn off “Read-only”, the lock at the top, first." : "Applying a manifest changes the node, which your role may not."}</p>
      </div>
    );
  }
  return <Apply />;
}
