// This node and others in one window: how each is, and the pods of all of them.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Export } from "../parts/export";
import { HealthIcon, Icon } from "../parts/icons";
import type { Row } from "../pure/export";
import { wantedOf } from "../pure/find";
import { healthNames, healthOf, keyOf, nameOf, readiness, reasonOf, whyOf } from "../pure/health";
import { atMost, type Place, podsOfAll, type Shown, standingOf, troubled } from "../pure/nodes";
import { since } from "../pure/time";
import { now, slow } from "../state/clock";
import { node, podList } from "../state/live";
import { look, neighbours, neighboursProblem, pathAt, readNeighbours, type Seen } from "../state/neighbours";
import { place, setQuery } from "../state/route";

const interval = 5000; // milliseconds between two looks at another node
const atOnce = 8; // nodes that are asked
const most = 200;

export function NodesPage() {
  useEffect(() => void readNeighbours(), []); // the file may have changed
  const seen = useNeighbours();
  const here: Shown = { name: node.value?.name ?? "This node", base: "/ui", node: node.value ?? undefined, pods: podList.value, problem: "" };
  const nodes = [here, ...neighbours.value.map(({ name }): Shown => ({ name, base: pathAt(name), node: seen.get(name)?.node, pods: seen.get(name)?.pods ?? [], problem: seen.get(name)?.problem ?? "" }))];
  return (
    <div class="page">
      <div class="page-head">
        <h1>Nodes</h1>
        <p class="sub">Others are read through this one, as a viewer. To act on one, sign in there.</p>
      </div>
      {neighboursProblem.value && <p class="problem" role="alert">{neighboursProblem.value}</p>}
      <table class="list nodes">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col" class="c-num">Pods</th>
            <th scope="col" class="c-num">In trouble</th>
            <th scope="col" class="wide">Version</th>
            <th scope="col" class="wide">Its own dashboard</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((one, i) => (
            <NodeRow key={one.base} one={one} url={neighbours.value[i - 1]?.url} />
          ))}
        </tbody>
      </table>
      <PodsOfAll nodes={nodes} />
    </div>
  );
}

function NodeRow({ one, url }: { one: Shown; url: string | undefined }) {
  const { health, words, why } = standingOf(one);
  const bad = troubled(one.pods, slow.value);
  const known = one.node !== undefined;
  return (
    <tr>
      <th scope="row">
        <a href={`${one.base}/`}>{one.name}</a>
      </th>
      <td>
        <HealthIcon health={health} /> {words}
        {why && <span class="why">{why}</span>}
      </td>
      <td class="c-num">{known && one.pods.length}</td>
      <td class={bad ? "c-num short" : "c-num"}>{known && bad}</td>
      <td class="wide">{one.node?.version}</td>
      <td class="wide">{url ? <a href={`${url}/ui/`}>{url.replace("https://", "")}</a> : <span class="muted">this one</span>}</td>
    </tr>
  );
}

function PodsOfAll({ nodes }: { nodes: readonly Shown[] }) {
  const whole = useSignal(false);
  const wanted = wantedOf(place.value.query);
  const found = podsOfAll(nodes, wanted, slow.value);
  const all = nodes.reduce((sum, one) => sum + one.pods.length, 0);
  return (
    <section>
      <div class="log-search">
        <h2>Pods of all nodes</h2>
        <label class="search">
          <Icon name="search" />
          <input type="search" aria-label="Search the pods of all nodes" placeholder="Node, name, reason, label, image" value={wanted.text} onInput={(e) => setQuery("q", e.currentTarget.value)} />
        </label>
        <span class="muted num">{found.length < all ? `${found.length} of ${all}` : all}</span>
        <span class="grow" />
        <Export name="pods-of-all-nodes" rows={() => found.map(rowOf)} />
      </div>
      {found.length === 0 && <p class="nothing">{all ? "No pod matches." : "None of the nodes has pods."}</p>}
      {found.length > 0 && (
        <table class="list nodes">
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Pod</th>
              <th scope="col">State</th>
              <th scope="col" class="c-num wide">Ready</th>
              <th scope="col" class="c-num wide">Restarts</th>
              <th scope="col" class="c-num wide">Age</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, whole.value ? found.length : most).map((one) => (
              <PodRow key={`${one.base}/${keyOf(one.pod)}`} one={one} />
            ))}
          </tbody>
        </table>
      )}
      {found.length > most && (
        <button type="button" class="link-button more" onClick={() => (whole.value = !whole.value)}>
          {whole.value ? "Show fewer" : `Show all ${found.length}`}
        </button>
      )}
    </section>
  );
}

function PodRow({ one: { node: of, base, pod } }: { one: Place }) {
  const { ready, all } = readiness(pod);
  const why = whyOf(pod);
  return (
    <tr>
      <td class="muted">{of}</td>
      <th scope="row">
        <a href={`${base}/pods/${pod.namespace}/${pod.name}`}>{nameOf(pod)}</a>
      </th>
      <td>
        <HealthIcon health={healthOf(pod, slow.value)} /> {reasonOf(pod)}
        {why && <span class="why">{why}</span>}
      </td>
      <td class="c-num wide">
        {ready}/{all}
      </td>
      <td class="c-num wide">{pod.restarts ?? 0}</td>
      <td class="c-num wide">{since(pod.acceptedAt, now.value)}</td>
    </tr>
  );
}

const rowOf = ({ node: of, pod }: Place): Row => ({ node: of, namespace: pod.namespace, name: pod.name, state: healthNames[healthOf(pod, now.value)], reason: reasonOf(pod), why: whyOf(pod), restarts: pod.restarts ?? 0, acceptedAt: pod.acceptedAt });

/** useNeighbours looks at the other nodes while the page is visible, some at a time. */
function useNeighbours(): ReadonlyMap<string, Seen> {
  const seen = useSignal<ReadonlyMap<string, Seen>>(new Map());
  const names = neighbours.value.map(({ name }) => name);
  useEffect(() => {
    let over = false;
    const inTurn = atMost(atOnce);
    const timers = new Map<string, ReturnType<typeof setTimeout>>();
    const ask = async (name: string) => {
      if (!document.hidden) {
        const next = await inTurn(async () => (over ? undefined : look(name, seen.peek().get(name))));
        if (over || !next) return;
        seen.value = new Map(seen.peek()).set(name, next);
      }
      timers.set(name, setTimeout(() => void ask(name), interval));
    };
    for (const name of names) void ask(name);
    return () => {
      over = true;
      timers.forEach(clearTimeout);
    };
  }, [names.join()]);
  return seen.value;
}
