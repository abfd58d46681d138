// Tokens: those of the node, for an admin to make and to revoke.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { CreateTokenResponse, Token } from "../api/gen";
import { perform } from "../api/request";
import { Ask } from "../parts/ask";
import { ApiButton, CopyButton } from "../parts/commands";
import { Ticking } from "../parts/ticking";
import { Waiting } from "../parts/waiting";
import { createToken, listTokens, revokeToken } from "../pure/calls";
import { full } from "../pure/time";
import { bodyOf, endOf, lifetimes, roles, scopeOf, usedOf, type Wanted } from "../pure/tokens";
import { now } from "../state/clock";
import { canAdmin } from "../state/session";
import { keepTokens, readTokens, tokens, tokensProblem } from "../state/tokens";

export function TokensPage() {
  useSignalEffect(keepTokens);
  const asked = useSignal<"" | "create" | Token>("");
  const close = () => (asked.value = "");
  const list = tokens.value ?? [];
  return (
    <div class="page">
      <div class="page-head">
        <h1>Tokens</h1>
        <p class="sub">With these, programs and people open this node.</p>
        <div class="page-tools">
          <ApiButton call={listTokens()} />
          {canAdmin.value && (
            <button type="button" class="primary" onClick={() => (asked.value = "create")}>
              Create…
            </button>
          )}
        </div>
      </div>
      {tokensProblem.value && <p class="problem" role="alert">{tokensProblem.value}</p>}
      <table class="list tokens">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Role</th>
            <th scope="col">Namespaces</th>
            <th scope="col">Ends</th>
            <th scope="col">Last used</th>
            <th scope="col"><span class="hidden">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          {list.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => (asked.value = token)} />
          ))}
        </tbody>
      </table>
      {tokens.value === null ? !tokensProblem.value && <Waiting /> : list.length === 0 && <p class="nothing">This node has no tokens.</p>}
      {asked.value === "create" && <Create onClose={close} />}
      {typeof asked.value === "object" && <Revoke token={asked.value} onClose={close} />}
    </div>
  );
}

function TokenRow({ token, onRevoke }: { token: Token; onRevoke: () => void }) {
  const by = token.createdBy ? ` by ${token.createdBy}` : "";
  return (
    <tr class={token.expired ? "over" : undefined}>
      <th scope="row">
        <span class="mono breakable">{token.name}</span>
        <span class="also">{token.createdAt && `made ${full(token.createdAt)}${by}`}</span>
      </th>
      <td>{token.role}</td>
      <td class="breakable">{scopeOf(token)}</td>
      <td title={token.expiresAt && full(token.expiresAt)}>
        <Ticking>{endOf(token, now.value)}</Ticking>
      </td>
      <td title={token.lastUsedAt && full(token.lastUsedAt)}>
        <Ticking>{usedOf(token, now.value)}</Ticking>
      </td>
      <td class="c-do">
        {canAdmin.value && (
          <button type="button" class="quiet" aria-label={`Revoke ${token.name}…`} onClick={onRevoke}>
            Revoke…
          </button>
        )}
      </td>
    </tr>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const wanted = useSignal<Wanted>({ name: "", role: "viewer", namespaces: "", seconds: lifetimes[2]![1] });
  const made = useSignal<CreateTokenResponse | null>(null);
  const change = (to: Partial<Wanted>) => (wanted.value = { ...wanted.value, ...to });
  const call = createToken(bodyOf(wanted.value));
  const act = async () => {
    if (made.value) return onClose();
    made.value = await perform<CreateTokenResponse>(call);
    await readTokens();
  };
  if (made.value) {
    return (
      <Ask title={`Token ${made.value.token?.name ?? ""}`} call={null} button="Done" act={act} onClose={onClose}>
        <p>This is the only time that the node shows it. Copy it now, and keep it where only its user can read it.</p>
        <div class="oneline">
          <code class="secret breakable">{made.value.secret}</code>
          <CopyButton text={made.value.secret ?? ""} />
        </div>
      </Ask>
    );
  }
  const { name, role, namespaces, seconds } = wanted.value;
  return (
    <Ask title="Create a token" call={call} button="Create the token" disabled={!name.trim()} act={act} onClose={onClose}>
      <label class="field">
        Name
        <input value={name} required maxLength={63} autocomplete="off" spellcheck={false} placeholder="ci" onInput={(e) => change({ name: e.currentTarget.value })} />
      </label>
      <label class="field">
        Role
        <select value={role} onChange={(e) => change({ role: e.currentTarget.value as Wanted["role"] })}>
          {roles.map((one) => (
            <option value={one}>{one}</option>
          ))}
        </select>
      </label>
      {role !== "admin" && (
        <label class="field">
          Namespaces
          <input value={namespaces} autocomplete="off" spellcheck={false} placeholder="the whole node" onInput={(e) => change({ namespaces: e.currentTarget.value })} />
        </label>
      )}
      <label class="field">
        Ends after
        <select value={String(seconds)} onChange={(e) => change({ seconds: Number(e.currentTarget.value) })}>
          {lifetimes.map(([words, value]) => (
            <option value={String(value)}>{words}</option>
          ))}
        </select>
      </label>
    </Ask>
  );
}

function Revoke({ token, onClose }: { token: Token; onClose: () => void }) {
  const call = revokeToken(token.name ?? "");
  const act = async () => {
    await perform(call);
    onClose();
    await readTokens();
  };
  return (
    <Ask title="Revoke a token" call={call} button="Revoke the token" danger act={act} onClose={onClose}>
      <p>
        <code class="breakable">{token.name}</code> opens nothing any more. What it has opened ends at once: watches, logs, terminals, forwarded ports, and the browsers that signed in with it. It cannot be brought back.
      </p>
    </Ask>
  );
}
