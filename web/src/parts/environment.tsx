// The environment of a container.
import { useSignal } from "@preact/signals";
import type { Container, EnvVar } from "../api/kube";
import { hidden } from "../pure/containers";
import { Fact } from "./fact";

/** Environment hides values at first: they are often confidential. */
export function Environment({ container: { env = [], envFrom = [] } }: { container: Container }) {
  const shown = useSignal(false);
  if (env.length + envFrom.length === 0) return null;
  return (
    <Fact name="Environment">
      {env.length > 0 && !shown.value && (
        <button type="button" class="link-button" onClick={() => (shown.value = true)}>
          Show {env.length} {env.length === 1 ? "variable" : "variables"}
        </button>
      )}
      <ul class="env">
        {shown.value && env.map((e) => <Variable variable={e} />)}
        {envFrom.map(({ prefix, configMapRef, secretRef }) => (
          <li>
            all of {configMapRef ? "ConfigMap" : "Secret"} <code>{(configMapRef ?? secretRef)?.name}</code>
            {prefix && (
              <>
                , as <code>{prefix}…</code>
              </>
            )}
          </li>
        ))}
      </ul>
    </Fact>
  );
}

function Variable({ variable: { name, value, valueFrom } }: { variable: EnvVar }) {
  if (value === hidden) {
    return (
      <li>
        <code>{name}</code> <span class="muted">hidden from viewers</span>
      </li>
    );
  }
  return (
    <li>
      <code>
        {name}
        {value !== undefined && `=${value}`}
      </code>
      {valueFrom && <span class="muted"> {fromWords(valueFrom)}</span>}
    </li>
  );
}

function fromWords(from: Record<string, Record<string, unknown>>): string {
  const [kind, ref] = Object.entries(from)[0] ?? ["", {}];
  return `from ${kind.replace(/(Key|Field)?Ref$/, "")} ${[ref["name"], ref["key"] ?? ref["fieldPath"] ?? ref["resource"]].filter(Boolean).join(", ")}`;
}
