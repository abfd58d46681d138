// Sign-in, with a link of `kubelet ui` or with a token.
import { useSignal } from "@preact/signals";
import { CopyButton } from "../parts/commands";
import { signIn, signInProblem } from "../state/session";

export function SignInPage() {
  const token = useSignal("");
  const busy = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    await signIn({ token: token.value.trim() });
    busy.value = false;
  };
  return (
    <main class="signin">
      <svg viewBox="0 0 32 32" width="40" height="40" aria-hidden="true">
        <rect width="32" height="32" rx="7" class="brand-box" />
        <path d="M9 23V9l14 14V9" class="brand-line" />
      </svg>
      <h1>Sign in to this node</h1>
      {signInProblem.value && (
        <p class="problem" role="alert">
          {signInProblem.value}
        </p>
      )}
      <section>
        <h2>With a link</h2>
        <p>On the node, as root. The link signs this browser in, once.</p>
        <div class="oneline">
          <code>kubelet ui</code>
          <CopyButton text="kubelet ui" />
        </div>
      </section>
      <section>
        <h2>With a token</h2>
        <form onSubmit={(e) => void submit(e)}>
          <label for="token">
            One from the node's <code>credentials</code> directory: viewer, operator or admin
          </label>
          <div class="oneline">
            <input id="token" type="password" autocomplete="off" spellcheck={false} required placeholder="nodal_…" value={token.value} onInput={(e) => (token.value = e.currentTarget.value)} />
            <button type="submit" class="primary" disabled={busy.value}>
              Sign in
            </button>
          </div>
        </form>
      </section>
      <p class="hint">
        <a href="/docs/">The documents of this node</a> need no sign-in.
      </p>
    </main>
  );
}
