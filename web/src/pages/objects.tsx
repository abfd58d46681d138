// Configuration, secrets and storage, each with the pods that use it.
import { useSignal } from "@preact/signals";
import type { Pod } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { Ask } from "../parts/ask";
import { ApiButton, CopyButton } from "../parts/commands";
import { Export } from "../parts/export";
import { HealthIcon } from "../parts/icons";
import { PodLinks } from "../parts/pod_link";
import { Waiting } from "../parts/waiting";
import { Yaml } from "../parts/yaml";
import { deleteObject, getObject, watchObjects, watchObjectsOf } from "../pure/calls";
import { placeOf } from "../pure/entry";
import type { Row } from "../pure/export";
import { keyOf } from "../pure/health";
import { textOf } from "../pure/secret";
import { idOf } from "../pure/undo";
import type { Kind, KindInfo } from "../pure/kinds";
import { toYaml } from "../pure/yaml";
import { undoFor } from "../state/applied";
import { podList } from "../state/live";
import { type Entry, kindOf, kinds, objects, objectsProblem, readObject, useObjects, usersOf, useReading } from "../state/objects";
import { go, hrefOf } from "../state/route";
import { canWrite } from "../state/session";

export function ObjectsPage() {
  useObjects();
  return (
    <div class="page">
      <div class="page-head">
        <h1>Objects</h1>
        <p class="sub">Configuration, secrets and storage for pods.</p>
        <div class="page-tools">
          <ApiButton call={watchObjects()} />
          <Export name="objects" rows={() => kinds.flatMap(({ kind }) => (objects.value?.get(kind) ?? []).map((entry) => rowOf(kind, entry)))} />
        </div>
      </div>
      {objectsProblem.value && <p class="problem" role="alert">{objectsProblem.value}</p>}
      {objects.value === null ? <Waiting /> : kinds.map((k) => <KindSection key={k.kind} kind={k.kind} list={objects.value!.get(k.kind) ?? []} />)}
    </div>
  );
}

/** rowOf has the names of keys, and no values. */
const rowOf = (kind: Kind, entry: Entry): Row => ({ kind, namespace: entry.namespace, name: entry.name, keys: (entry.keys ?? []).join(" "), phase: entry.phase, capacity: entry.capacity, usedBy: usersOf(podList.value, kind, entry).map(keyOf).join(" ") });

function KindSection({ kind, list }: { kind: Kind; list: readonly Entry[] }) {
  const info = kindOf(kind)!;
  return (
    <section>
      <div class="section-head">
        <h2>
          {info.many} <span class="muted">{list.length || ""}</span>
        </h2>
        <ApiButton call={watchObjectsOf(info)} />
      </div>
      {list.length === 0 ? (
        <p class="muted">None. {info.empty}</p>
      ) : (
        <table class="list">
          <thead>
            <tr>
              <th scope="col" class="w-name">Name</th>
              <th scope="col">{kind === "configmaps" || kind === "secrets" ? "Keys" : "What"}</th>
              <th scope="col" class="w-users">Used by</th>
            </tr>
          </thead>
          <tbody>
            {list.map((entry) => (
              <tr key={keyOf(entry)}>
                <th scope="row">
                  <a href={hrefOf("objects", kind, entry.namespace || "-", entry.name!)}>
                    {entry.namespace && entry.namespace !== "default" && <span class="ns">{entry.namespace}/</span>}
                    {entry.name}
                  </a>{" "}
                  {entry.deleting && <span class="tag">going</span>}
                </th>
                <td>
                  <What kind={kind} entry={entry} />
                </td>
                <td>
                  <PodLinks pods={usersOf(podList.value, kind, entry)} most={4} none="no pod" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function What({ kind, entry }: { kind: Kind; entry: Entry }) {
  switch (kind) {
    case "configmaps":
    case "secrets":
      return (
        <>
          <span class="mono breakable">{(entry.keys ?? []).join(", ") || "–"}</span> {entry.type && entry.type !== "Opaque" && <span class="muted">{entry.type}</span>}{" "}
          {entry.immutable && <span class="tag">immutable</span>}
        </>
      );
    case "persistentvolumeclaims":
      return (
        <>
          <HealthIcon health={entry.phase === "Bound" ? "ready" : entry.phase === "Lost" ? "failed" : "starting"} /> {entry.phase}
          {entry.volume && (
            <>
              {" to "}
              <a href={hrefOf("objects", "persistentvolumes", "-", entry.volume)}>{entry.volume}</a>
            </>
          )}
          {entry.capacity && `, ${entry.capacity}`} {entry.message && <span class="muted">{entry.message}</span>}
        </>
      );
    case "persistentvolumes":
      return (
        <>
          {entry.phase}
          {entry.claim && (
            <>
              {" to "}
              <a href={hrefOf("objects", "persistentvolumeclaims", ...entry.claim.split("/"))}>{entry.claim}</a>
            </>
          )}
          {entry.capacity && `, ${entry.capacity}`} {entry.storageClass && <span class="muted">class {entry.storageClass}</span>}
        </>
      );
    case "clustertrustbundles":
      return entry.signerName ? <span>of {entry.signerName}</span> : <span class="muted">of no signer</span>;
    default:
      return <span>{kindOf(kind)?.what?.(entry.object ?? {})}</span>;
  }
}

interface OneProps {
  kind: Kind;
  namespace: string;
  name: string;
}

export function ObjectPage({ kind, namespace, name }: OneProps) {
  const info = kindOf(kind)!;
  const entry = useSignal<Entry | null>(null);
  const problem = useSignal("");
  const asked = useSignal(false);
  const call = getObject(info, { namespace, name });
  const id = idOf({ kind: info.one, namespace: info.namespaced ? namespace : "", name });
  const read = async () => {
    try {
      entry.value = await readObject(info, { namespace, name });
      problem.value = "";
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  useObjects();
  const now = objects.value?.get(kind)?.find((one) => one.name === name && (!info.namespaced || one.namespace === namespace));
  useReading(() => void read(), kind === "secrets" ? "" : now?.revision /* each reading of a secret is on record */);
  const object = (entry.value?.object ?? {}) as { data?: Record<string, string> };
  const place = placeOf(entry.value ?? {});
  const users = usersOf(podList.value, kind, entry.value ?? { namespace, name });
  const shown = kind === "secrets" ? { ...object, data: undefined } : object;
  const text = toYaml(JSON.parse(JSON.stringify(shown)));
  return (
    <div class="page">
      <p class="sub">
        <a href={hrefOf("objects")}>Objects</a> <span class="muted">/ {info.one}</span>
      </p>
      <div class="object-head">
        <h1>
          {info.namespaced && <span class="ns">{namespace}/</span>}
          {name}
        </h1>
        <div class="page-tools">
          <ApiButton call={call} />
          {canWrite.value && entry.value && !place && isEdited(kind, object) && (
            <a class="button" href={`${hrefOf("apply")}?object=${encodeURIComponent(`${kind}/${namespace}/${name}`)}`}>
              Edit…
            </a>
          )}
          {canWrite.value && undoFor(id) && (
            <a class="button" title="Review the version before your last change, and apply it" href={`${hrefOf("apply")}?undo=${encodeURIComponent(id)}`}>
              Roll back…
            </a>
          )}
          {canWrite.value && entry.value && (
            <button type="button" class="danger" onClick={() => (asked.value = true)} disabled={!!place} title={place && `It is kept by ${place}: remove it there`}>
              Delete…
            </button>
          )}
        </div>
      </div>
      {problem.value && <p class="problem" role="alert">{problem.value}</p>}
      {entry.value && (
        <>
          <p class="object-line">
            <What kind={kind} entry={entry.value} /> <span class="muted">· used by</span> <PodLinks pods={users} most={4} none="no pod" />
            {place && <span class="muted"> · kept by {place}</span>}
          </p>
          {kind === "secrets" && <Values keys={entry.value.keys ?? []} data={object.data} />}
          <section>
            <div class="section-head">
              <h2>YAML</h2>
              <CopyButton text={text} />
            </div>
            <Yaml text={text} />
          </section>
        </>
      )}
      {asked.value && <Delete info={info} namespace={namespace} name={name} users={users} onClose={() => (asked.value = false)} />}
    </div>
  );
}

/**
 * isEdited reports whether an object can be edited. Most fields of other kinds cannot change, and a
 * secret needs its values.
 */
const isEdited = (kind: Kind, object: { data?: object }) => kind === "configmaps" || (kind === "secrets" && object.data !== undefined);

/** Values shows a secret's values, hidden at first, and only to admins. */
function Values({ keys, data }: { keys: readonly string[]; data: Record<string, string> | undefined }) {
  const shown = useSignal<ReadonlySet<string>>(new Set());
  if (!data) {
    return (
      <p class="hint">
        {keys.length} {keys.length === 1 ? "value" : "values"}, shown to admins only.
      </p>
    );
  }
  const toggle = (key: string) => {
    const next = new Set(shown.value);
    if (!next.delete(key)) next.add(key);
    shown.value = next;
  };
  return (
    <section>
      <h2>Values</h2>
      <div class="secret-values">
        {keys.map((key) => (
          <div>
            <p>
              <code>{key}</code>
              <button type="button" class="link-button" aria-expanded={shown.value.has(key)} onClick={() => toggle(key)}>
                {shown.value.has(key) ? "Hide" : "Show"}
              </button>
              <CopyButton text={textOf(data[key] ?? "") ?? data[key]!} label="" />
            </p>
            {shown.value.has(key) && <pre tabIndex={0}>{textOf(data[key] ?? "") ?? `${data[key]} (base64: not text)`}</pre>}
          </div>
        ))}
      </div>
    </section>
  );
}

interface DeleteProps {
  info: KindInfo;
  namespace: string;
  name: string;
  users: readonly Pod[];
  onClose: () => void;
}

function Delete({ info, namespace, name, users, onClose }: DeleteProps) {
  const call = deleteObject(info, { namespace, name });
  const act = async () => {
    await perform(call);
    go(hrefOf("objects"));
  };
  return (
    <Ask title={`Delete ${name}`} call={call} button={`Delete the ${info.one}`} danger act={act} onClose={onClose}>
      <p>
        {users.length > 0 ? (
          <>
            Used by pods: <PodLinks pods={users} most={4} none="" />. Running pods are not affected, but may have to wait for it at their next start.
          </>
        ) : (
          "No pod uses it."
        )}
      </p>
    </Ask>
  );
}
