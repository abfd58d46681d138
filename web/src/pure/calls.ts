// The calls of the page to the node. Pages perform these and show the same calls as commands, so
// the commands are always right.
import type { LogOfRun, Pod } from "../api/gen";
import type { Container } from "../api/kube";
import { quote } from "./shell";
import type { KindInfo } from "./kinds";

/** Conversation sends data both ways, which plain HTTP cannot. */
export interface Conversation {
  /** Service and method, without the package. */
  rpc: string;
  message?: object;
  /** Empty: kubectl has no command for this. */
  kubectl: string;
}

export interface Call extends Conversation {
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** The body: JSON, or a file of the user. */
  json?: object;
  file?: "manifest" | "tarball";
  stream?: boolean;
  /** For a watch: the call to repeat where there are no watches. */
  once?: Call;
}

export type Named = Pick<Pod, "namespace" | "name">;

const read = (path: string, rpc: string, kubectl: string, message: object = {}): Call => ({ method: "GET", path, rpc, message, kubectl });
const watch = (once: Call, path: string, rpc: string): Call => ({ ...once, path, rpc, kubectl: `${once.kubectl} --watch`, stream: true, once });

const podPath = ({ namespace, name }: Named) => `/v1/namespaces/${namespace}/pods/${name}`;
const named = ({ namespace, name }: Named) => ({ namespace, name });
/** of returns a pod's name as kubectl's arguments. */
const of = ({ namespace, name }: Named) => `${name} -n ${namespace}`;

export const getNode = (name: string) => read("/v1/node", "NodeService/GetNode", `kubectl describe node ${name}`);
export const watchNode = (name: string) => watch(getNode(name), "/v1/node:watch", "NodeService/WatchNode");
export const cordonNode = (name: string, reason: string): Call => {
  const json = reason ? { reason } : {};
  return { method: "POST", path: "/v1/node:cordon", json, rpc: "NodeService/Cordon", message: json, kubectl: `kubectl cordon ${name}` };
};
export const uncordonNode = (name: string): Call => ({ method: "POST", path: "/v1/node:uncordon", json: {}, rpc: "NodeService/Uncordon", kubectl: `kubectl uncordon ${name}` });
export const getPressure = () => read("/v1/node/pressure", "NodeService/GetPressure", "");
export const getNodeConfig = () => read("/v1/node/config?givenOnly=true", "NodeService/GetNodeConfig", "");
export const listCapabilities = () => read("/v1/node/capabilities", "NodeService/ListCapabilities", "");

export const listNodeLogs = () => read("/v1/node/logs", "NodeLogsService/ListNodeLogs", "");

export interface NodeLogPart {
  tailLines?: number;
  pattern?: string;
  follow?: boolean;
}

/** readNodeLog reads a log of the machine. kubectl has the path /logs/ for some of them, off by default. */
export function readNodeLog(source: string, part: NodeLogPart): Call {
  const asked = Object.entries(part).filter(([, value]) => value);
  const query = new URLSearchParams(asked.map(([name, value]) => [name, String(value)]));
  const path = `/v1/node/logs/${encodeURIComponent(source)}${query.size ? `?${query}` : ""}`;
  return { ...read(path, "NodeLogsService/ReadNodeLog", "", { source, ...Object.fromEntries(asked) }), stream: true };
}

export const listPlugins = () => read("/v1/node/plugins", "NodeService/ListPlugins", "");
export const listShares = () => read("/v1/node/shares", "NodeService/ListShares", "");
export const listGarbage = () => read("/v1/node/garbage", "NodeService/ListGarbage", "");

const asQuery = ({ namespace, name }: Named) => `namespace=${namespace}&name=${name}`;

export const watchUsage = (name: string) => usage(`kubectl top node ${name}`);
export const watchUsageOf = (pod: Named) => usage(`kubectl top pod ${of(pod)}`, pod);

function usage(kubectl: string, pod?: Named): Call {
  const once = read(pod ? `/v1/stats?${asQuery(pod)}` : "/v1/stats", "StatsService/GetStats", kubectl, pod && named(pod));
  return { ...once, path: `/v1/stats:watch?interval=5s${pod ? `&${asQuery(pod)}` : ""}`, rpc: "StatsService/WatchStats", message: { interval: "5s", ...once.message }, stream: true, once };
}

export const listPods = () => read("/v1/pods", "PodsService/ListPods", "kubectl get pods --all-namespaces");
export const watchPods = () => watch(listPods(), "/v1/pods:watch", "PodsService/WatchPods");
export const listEvents = () => read("/v1/events", "EventsService/ListEvents", "kubectl events --all-namespaces");
export const watchEvents = () => watch(listEvents(), "/v1/events:watch", "EventsService/WatchEvents");
export const watchEventsOf = (pod: Named) =>
  watch(read(`/v1/events?${asQuery(pod)}`, "EventsService/ListEvents", `kubectl events --for pod/${of(pod)}`, named(pod)), `/v1/events:watch?${asQuery(pod)}`, "EventsService/WatchEvents");
/** watchAuditOf sends who did what to a pod, and to earlier ones of its name. */
export function watchAuditOf(pod: Named): Call {
  const once = read(`/v1/audit?kind=Pod&${asQuery(pod)}`, "AuditService/ListAuditEntries", "", { kind: "Pod", ...named(pod) });
  return { ...once, path: `/v1/audit:watch?kind=Pod&${asQuery(pod)}`, rpc: "AuditService/WatchAuditEntries", stream: true, once };
}

export const getPod = (pod: Named) => read(podPath(pod), "PodsService/GetPod", `kubectl get pod ${of(pod)} -o yaml`, named(pod));
/** getPodAt reads a pod as it was at a revision. */
export const getPodAt = (pod: Named, at: string) => read(`${podPath(pod)}?at=${at}`, "PodsService/GetPod", "", { ...named(pod), at });
export const getUsageHistory = (pod: Named) => read(`${podPath(pod)}/stats`, "StatsService/GetStatsHistory", "", named(pod));
/** getPodHistory reads what was recorded of a pod, which may be gone. */
export function getPodHistory(pod: Named & { uid?: string }, since: string, step: number): Call {
  const message = { ...named(pod), ...(pod.uid && { uid: pod.uid }), since, step: `${step}s` };
  return read(`${podPath(pod)}/history?${pod.uid ? `uid=${pod.uid}&` : ""}since=${since}&step=${step}s`, "StatsService/GetPodHistory", "", message);
}
/** getPodHistoryUntil reads what was recorded of a pod's memory in a time, as finely as it was. */
export function getPodHistoryUntil(pod: ThisPod, since: string, until: string): Call {
  return read(`${podPath(pod)}/history?uid=${pod.uid}&since=${since}&until=${until}&step=15s`, "StatsService/GetPodHistory", "", { ...named(pod), uid: pod.uid, since, until, step: "15s" });
}
export const getNodeHistory = (since: string, step: number) => read(`/v1/node/history?since=${since}&step=${step}s`, "StatsService/GetNodeHistory", "", { since, step: `${step}s` });
export const getTimeline = (pod: Named) => read(`${podPath(pod)}/timeline`, "EventsService/GetTimeline", `kubectl describe pod ${of(pod)}`, named(pod));

/** ThisPod names a pod with its UID, so that a successor of the same name is not meant. */
type ThisPod = Named & Pick<Pod, "uid">;

export function restartPod(pod: ThisPod, container: string): Call {
  const json = { ...(container && { container }), uid: pod.uid };
  return { method: "POST", path: `${podPath(pod)}:restart`, json, rpc: "PodsService/RestartPod", message: { ...named(pod), ...json }, kubectl: "" };
}

export function deletePod(pod: ThisPod, seconds: string): Call {
  return {
    method: "DELETE",
    path: `${podPath(pod)}?gracePeriodSeconds=${seconds}&uid=${pod.uid}`,
    rpc: "PodsService/DeletePod",
    message: { ...named(pod), gracePeriodSeconds: seconds, uid: pod.uid },
    kubectl: `kubectl delete pod ${of(pod)} --grace-period=${seconds}${seconds === "0" ? " --force" : ""}`,
  };
}

export const listLogs = () => read("/v1/logs", "LogsService/ListLogs", "");

export interface LogPart {
  previous?: boolean;
  follow?: boolean;
  timestamps?: boolean;
  tailLines?: number;
  sinceSeconds?: number;
  sinceTime?: string;
}

/** readRun reads the log of one run, of a deleted pod too. kubectl cannot name one. */
export function readRun(log: LogOfRun): Call {
  const { uid, container, attempt, kept } = log;
  const part = { uid, attempt: attempt ?? 0, ...(kept && { kept }) };
  const query = new URLSearchParams(Object.entries(part).map(([key, value]) => [key, String(value)]));
  const path = `${podPath(log)}/containers/${container}/logs?${query}`;
  return { ...read(path, "LogsService/ReadLogs", "", { ...named(log), container, ...part }), stream: true };
}

/** readTail reads the last lines of one run. */
export function readTail(pod: ThisPod, container: string, attempt: number, tailLines: number): Call {
  const part = { uid: pod.uid, attempt, tailLines };
  return { ...read(`${podPath(pod)}/containers/${container}/logs?uid=${pod.uid}&attempt=${attempt}&tailLines=${tailLines}`, "LogsService/ReadLogs", "", { ...named(pod), container, ...part }), stream: true };
}

export function readLogs(pod: Named, container: string, part: LogPart): Call {
  const asked = Object.entries(part).filter(([, value]) => value);
  const query = new URLSearchParams(asked.map(([name, value]) => [name, String(value)]));
  const path = `${podPath(pod)}/containers/${container}/logs${query.size ? `?${query}` : ""}`;
  return { ...read(path, "LogsService/ReadLogs", `kubectl logs ${of(pod)} -c ${container}${asked.map(flagOf).join("")}`, { ...named(pod), container, ...Object.fromEntries(asked) }), stream: true };
}

/** flagOf returns kubectl's flag for a setting. */
function flagOf([name, value]: [string, string | number | boolean]): string {
  const flags: Record<string, string> = { tailLines: `tail=${value}`, sinceSeconds: `since=${value}s`, sinceTime: `since-time=${value}` };
  return ` --${flags[name] ?? name}`;
}

export function runCommand(pod: Named, container: string, command: readonly string[]): Call {
  return {
    method: "POST",
    path: `${podPath(pod)}/containers/${container}:run`,
    json: { command },
    rpc: "ExecService/Run",
    message: { ...named(pod), container, command },
    kubectl: `kubectl exec -it ${of(pod)} -c ${container} -- ${command.map(quote).join(" ")}`,
  };
}

export function attach(pod: Named, container: string, has: Pick<Container, "stdin" | "tty">): Conversation {
  const flags = has.stdin ? `-i${has.tty ? "t" : ""} ` : "";
  return { rpc: "ExecService/Attach", message: { start: { ...named(pod), container, ...(has.stdin && { stdin: true }) } }, kubectl: `kubectl attach ${flags}${of(pod)} -c ${container}` };
}

export const planManifests = (): Call => ({ method: "POST", path: "/v1/manifests:plan", file: "manifest", rpc: "ManifestsService/Plan", kubectl: "kubectl diff -f pod.yaml" });
/** applyManifests refuses to overwrite what has changed after a revision, if there is one. */
export const applyManifests = (since = ""): Call => ({ method: "POST", path: `/v1/manifests${since && `?unchangedSince=${since}`}`, file: "manifest", rpc: "ManifestsService/Apply", kubectl: "kubectl apply -f pod.yaml" });

export const listImages = (node: string) => read("/v1/images", "ImagesService/ListImages", `kubectl get node ${node} -o jsonpath='{range .status.images[*]}{.names[-1]}{"\\n"}{end}'`);
export const listPulls = () => read("/v1/images:pulls", "ImagesService/ListPulls", "");
export const importImages = (): Call => ({ method: "POST", path: "/v1/images:import", file: "tarball", rpc: "ImagesService/ImportImages", kubectl: "" });
export const planPrune = () => read("/v1/images:prunePlan", "ImagesService/GetPrunePlan", "");
export const pruneImages = (): Call => ({ method: "POST", path: "/v1/images:prune", json: {}, rpc: "ImagesService/PruneImages", kubectl: "" });
export const removeImage = (image: string): Call => ({ method: "DELETE", path: `/v1/images?image=${encodeURIComponent(image)}`, rpc: "ImagesService/RemoveImage", message: { image }, kubectl: "" });

export const listTokens = () => read("/v1/tokens", "TokensService/ListTokens", "");
export const createToken = (json: object): Call => ({ method: "POST", path: "/v1/tokens", json, rpc: "TokensService/CreateToken", message: json, kubectl: "" });
export const revokeToken = (name: string): Call => ({ method: "DELETE", path: `/v1/tokens/${encodeURIComponent(name)}`, rpc: "TokensService/RevokeToken", message: { name }, kubectl: "" });

type Objects = Pick<KindInfo, "kind" | "namespaced">;

const pathOf = (o: Objects, { namespace, name }: Named) => (o.namespaced ? `/v1/namespaces/${namespace}/objects/${o.kind}/${name}` : `/v1/objects/${o.kind}/${name}`);
const keyOf = ({ kind, namespaced }: Objects, { namespace, name }: Named) => (namespaced ? { kind, namespace, name } : { kind, name });
const called = (o: Objects, entry: Named) => `${o.kind} ${o.namespaced ? of(entry) : entry.name}`;

export const listObjects = (o: Objects) => read(`/v1/objects/${o.kind}`, "ObjectsService/ListObjects", `kubectl get ${o.kind}${o.namespaced ? " --all-namespaces" : ""}`, { kind: o.kind });
/** watchObjects watches all kinds at once. */
export const watchObjects = (): Call => ({ ...read("/v1/objects:watch", "ObjectsService/WatchObjects", ""), stream: true });
export const watchObjectsOf = (o: Objects): Call => ({ ...watch(listObjects(o), `/v1/objects:watch?kinds=${o.kind}`, "ObjectsService/WatchObjects"), message: { kinds: [o.kind] } });
export const getObject = (o: Objects, entry: Named) => read(pathOf(o, entry), "ObjectsService/GetObject", `kubectl get ${called(o, entry)} -o yaml`, keyOf(o, entry));
export const deleteObject = (o: Objects, entry: Named): Call => ({ method: "DELETE", path: pathOf(o, entry), rpc: "ObjectsService/DeleteObject", message: keyOf(o, entry), kubectl: `kubectl delete ${called(o, entry)}` });
