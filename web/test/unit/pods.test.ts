import { describe, expect, it } from "vitest";
import type { Pod } from "../../src/api/gen";
import { ofNode, ofPod, troubleOf } from "../../src/pure/conditions";
import { find, tally, type Wanted, wantedOf } from "../../src/pure/find";
import { grouped, groupingOf, isGroup } from "../../src/pure/group";
import { healthOf, reasonOf, whyOf } from "../../src/pure/health";
import { fieldPath, manifestOf, manifestOfObject, placeOf } from "../../src/pure/manifest";

const pod = (name: string, more: Partial<Pod> = {}): Pod => ({ namespace: "default", name, phase: "POD_PHASE_RUNNING", ...more });

describe("healthOf", () => {
  const cases: Array<[string, Pod, string]> = [
    ["a ready pod is ready", pod("a", { ready: true }), "ready"],
    ["one that is being made is starting", pod("a", { phase: "POD_PHASE_PENDING", reason: "ContainerCreating" }), "starting"],
    ["one that crashes is in trouble", pod("a", { reason: "CrashLoopBackOff" }), "failing"],
    ["one that goes is leaving, whatever else it is", pod("a", { ready: true, deletionDeadline: "2026-01-01T00:00:00Z" }), "leaving"],
    ["one that has ended well is done", pod("a", { phase: "POD_PHASE_SUCCEEDED", reason: "Completed" }), "done"],
    ["one that has not has failed", pod("a", { phase: "POD_PHASE_FAILED", reason: "Evicted" }), "failed"],
  ];
  it.each(cases)("%s", (_, given, want) => expect(healthOf(given)).toBe(want));
});

describe("a pod that does not become ready", () => {
  const at = (s: number) => Date.parse("2026-01-01T00:00:00Z") + s * 1000;
  const unready = (more: Partial<Pod> = {}) => pod("a", { object: { status: { conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" }] } }, ...more });
  it.each<[string, Pod, number, string]>([
    ["is starting at first", unready(), 59, "starting"],
    ["is in trouble after a minute", unready(), 61, "failing"],
    ["may run its init containers for longer", unready({ phase: "POD_PHASE_PENDING", reason: "PodInitializing" }), 299, "starting"],
    ["may not for ever", unready({ phase: "POD_PHASE_PENDING", reason: "PodInitializing" }), 301, "failing"],
    ["may wait for its image", unready({ phase: "POD_PHASE_PENDING", reason: "ContainerCreating" }), 9999, "starting"],
    ["may end well", unready({ phase: "POD_PHASE_SUCCEEDED" }), 9999, "done"],
  ])("%s", (_, given, seconds, want) => expect(healthOf(given, at(seconds))).toBe(want));
  it("is found and counted among those in trouble", () => {
    const wanted: Wanted = { text: "", health: "failing", sort: "health", down: false };
    expect(find([unready()], wanted, new Map(), at(90))).toHaveLength(1);
    expect(find([unready()], wanted, new Map(), at(9))).toHaveLength(0);
    expect(tally([unready()], at(90))).toEqual(new Map([["failing", 1]]));
  });
  it("says for which of its init containers it waits", () => {
    const object = { spec: { initContainers: [{ name: "a" }, { name: "wait-for-db" }], containers: [{ name: "main" }] }, status: { initContainerStatuses: [{ name: "a", state: { terminated: { exitCode: 0 } } }, { name: "wait-for-db", state: { running: {} } }] } };
    const waiting = pod("a", { phase: "POD_PHASE_PENDING", reason: "PodInitializing", object });
    expect([reasonOf(waiting), whyOf(waiting)]).toEqual(["Init 1/2", "wait-for-db runs; the others wait for it"]);
  });
});

describe("whyOf", () => {
  it("puts the exit before the back-off", () => {
    const object = {
      spec: { containers: [{ name: "main" }] },
      status: {
        containerStatuses: [
          {
            name: "main",
            state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 20s restarting failed container" } },
            lastState: { terminated: { exitCode: 137, reason: "OOMKilled", message: "out of memory\n" } },
          },
        ],
      },
    };
    expect(whyOf(pod("a", { reason: "CrashLoopBackOff", message: "back-off", object }))).toBe("main: OOMKilled, exit code 137 · out of memory · next start held back for 20s");
  });
  it("says how a container ended if the failed pod has no message", () => {
    const object = {
      spec: { containers: [{ name: "well" }, { name: "main" }] },
      status: { containerStatuses: [{ name: "well", state: { terminated: { exitCode: 0 } } }, { name: "main", state: { terminated: { exitCode: 3, reason: "Error" } } }] },
    };
    const failed = pod("a", { phase: "POD_PHASE_FAILED", reason: "Error", object });
    expect([whyOf(failed), whyOf({ ...failed, message: "evicted" })]).toEqual(["main: exit code 3", "evicted"]);
  });
});

describe("why a pod is not ready", () => {
  const queue = pod("queue", { object: { status: { conditions: [{ type: "Ready", status: "False", message: "containers with unready status: [queue]" }] } } });
  it("is its probe's message", () => {
    expect(reasonOf(queue)).toBe("NotReady");
    expect(whyOf(queue, "queue: Readiness probe failed: no leader")).toBe("queue: readiness: no leader");
    expect(whyOf(queue, "queue: Liveness probe failed: the command ended with exit code 1")).toBe("queue: liveness: exit code 1");
    expect(whyOf(queue)).toBe("containers with unready status: [queue]");
  });
  it("is the last cause of an image that cannot be pulled", () => {
    const message = 'Back-off pulling image "a/b:1": ErrImagePull: pull image a/b:1: failed to pull and unpack image "a/b:1": failed to resolve reference "a/b:1": not found';
    expect(whyOf(pod("a", { reason: "ImagePullBackOff", message }))).toBe("a/b:1: not found");
    expect(whyOf(pod("a", { reason: "ErrImagePull", message: 'pull image a/b:1: failed to resolve reference "a/b:1": a/b:1: not found' }))).toBe("a/b:1: not found");
  });
});

describe("conditions", () => {
  it("of a node are good if it is ready and under no pressure", () => {
    const lines = ofNode([
      { type: "MemoryPressure", status: "True", reason: "KubeletHasInsufficientMemory", message: "short: memory.available" },
      { type: "DiskPressure", status: "False", reason: "KubeletHasNoDiskPressure", message: "kubelet has no disk pressure" },
      { type: "PIDPressure", status: "Unknown", reason: "NodeStatusUnknown", message: "how much is left could not be read" },
      { type: "Ready", status: "False", reason: "KubeletNotReady", message: "container runtime is down: gone" },
    ]);
    expect(lines.map((l) => [l.health, l.words])).toEqual([["failing", "KubeletHasInsufficientMemory"], ["ready", "False"], ["starting", "NodeStatusUnknown"], ["failing", "KubeletNotReady"]]);
    expect(troubleOf(lines[0]!)).toEqual({ title: "The node is short of memory", message: "short: memory.available" });
    expect(troubleOf(lines[3]!)).toEqual({ title: "The node is not ready", message: "container runtime is down: gone. Running pods are not affected; new ones do not start." });
  });
  it("of a pod say why they are false", () => {
    const lines = ofPod([{ type: "Ready", status: "False", reason: "ContainersNotReady" }, { type: "Initialized", status: "True" }, { type: "ContainersReady", status: "False", reason: "PodCompleted" }]);
    expect(lines.map((l) => [l.health, l.words])).toEqual([["starting", "ContainersNotReady"], ["ready", ""], ["done", "PodCompleted"]]);
  });
  it("are not marked as good if they explain a problem", () => {
    const lines = ofPod([{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" }, { type: "PodResizePending", status: "True", reason: "Deferred" }, { type: "PodResizeInProgress", status: "True" }, { type: "example.org/gate", status: "True", reason: "Open" }]);
    expect(lines.map((l) => [l.health, l.words])).toEqual([["leaving", "TerminationByKubelet"], ["starting", "Deferred"], ["starting", ""], ["ready", ""]]);
  });
});

describe("find", () => {
  const pods = [
    pod("web", { ready: true, restarts: 0, acceptedAt: "2026-01-03T00:00:00Z" }),
    pod("worker", { reason: "CrashLoopBackOff", restarts: 7, acceptedAt: "2026-01-01T00:00:00Z" }),
    pod("db", { namespace: "data", ready: true, restarts: 1, acceptedAt: "2026-01-02T00:00:00Z", object: { metadata: { labels: { app: "postgres" } } } }),
  ];
  const wanted = (more: Partial<Wanted>): Wanted => ({ text: "", health: "", sort: "health", down: false, ...more });
  const cases: Array<[string, Partial<Wanted>, string[]]> = [
    ["trouble comes first, then names", {}, ["worker", "db", "web"]],
    ["a word of a reason", { text: "crashloop" }, ["worker"]],
    ["a label", { text: "app=postgres" }, ["db"]],
    ["every word counts", { text: "data postgres" }, ["db"]],
    ["a name with its namespace", { text: "default/w" }, ["worker", "web"]],
    ["a state", { health: "ready" }, ["db", "web"]],
    ["most restarts first", { sort: "restarts" }, ["worker", "db", "web"]],
    ["youngest first", { sort: "age" }, ["web", "db", "worker"]],
    ["and the other way", { sort: "age", down: true }, ["worker", "db", "web"]],
  ];
  it.each(cases)("%s", (_, want, names) => expect(find(pods, wanted(want)).map((p) => p.name)).toEqual(names));
  it("puts the highest usage first and unknown usage last", () => {
    const uses = new Map([["w", { cores: 0.5, memory: 1 }], ["d", { cores: 0.1, memory: 2 }]]);
    const known = [{ ...pods[0]!, uid: "w" }, pods[1]!, { ...pods[2]!, uid: "d" }];
    expect(find(known, wanted({ sort: "cpu" }), uses).map((p) => p.name)).toEqual(["web", "db", "worker"]);
    expect(find(known, wanted({ sort: "memory" }), uses).map((p) => p.name)).toEqual(["db", "web", "worker"]);
  });
  it("sorts by name backwards, namespaces first", () => expect(find(pods, wanted({ sort: "name", down: true })).map((p) => p.name)).toEqual(["worker", "web", "db"]));
});

describe("the search of an address", () => {
  const cases: Array<[string, string, Wanted]> = [
    ["is found", "q=web&state=failed&sort=age&down=1", { text: "web", health: "failed", sort: "age", down: true }],
    ["is left out where there is no such thing", "state=well&sort=constructor&down=no", { text: "", health: "", sort: "health", down: false }],
  ];
  it.each(cases)("%s", (_, query, want) => expect(wantedOf(new URLSearchParams(query))).toEqual(want));
});

describe("places", () => {
  it("reads field paths", () => expect(fieldPath("spec.containers[0].env[12].name")).toEqual(["spec", "containers", 0, "env", 12, "name"]));
  it("reads the place of a violation", () =>
    expect(placeOf("document 2 (Pod default/x): spec.containers[0].imag")).toEqual({ document: 1, path: ["spec", "containers", 0, "imag"] }));
});

describe("manifestOf", () => {
  it("leaves out fields that the node has filled in", () => {
    const object = {
      metadata: { name: "a", namespace: "b", uid: "x", labels: { app: "a" } },
      spec: { nodeName: "n", containers: [{ name: "c", image: "i", resources: {}, terminationMessagePolicy: "File" }], securityContext: {} },
      status: { phase: "Running" },
    };
    expect(manifestOf(pod("a", { object }))).toBe(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: b\n  labels:\n    app: a\nspec:\n  containers:\n  - name: c\n    image: i\n",
    );
  });
});

describe("manifestOfObject", () => {
  it("leaves out fields that only the node may set", () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "b", uid: "x", creationTimestamp: "2026-01-01T00:00:00Z", resourceVersion: "7" }, data: { k: "v" }, status: {} };
    expect(manifestOfObject(object)).toBe("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\ndata:\n  k: v\n");
  });
});

describe("grouped", () => {
  const of = (name: string, more: Partial<Pod>) => pod(name, { ready: true, ...more });
  const app = (label: string) => ({ object: { metadata: { labels: { app: label } } } });
  it("leaves a list without groups as it is", () => {
    const list = [of("a", {}), of("b", {})];
    expect(grouped(list, "", 0)).toEqual(list);
  });
  it("puts a head before each group, in the order of the first pods, and counts who is in trouble", () => {
    const rows = grouped([of("a", { ready: false, reason: "CrashLoopBackOff", ...app("shop") }), of("b", app("db")), of("c", app("shop")), of("d", {})], "app", 0);
    expect(rows.map((row) => (isGroup(row) ? `${row.name}: ${row.count}, ${row.troubled}` : row.name))).toEqual(["shop: 2, 1", "a", "c", "db: 1, 0", "b", "without the label app: 1, 0", "d"]);
  });
  it("knows the workload that owns a pod", () => {
    const owned = of("a-1", { object: { metadata: { ownerReferences: [{ kind: "ReplicaSet", name: "a" }] } } });
    const elsewhere = { ...owned, namespace: "prod" };
    expect(grouped([owned, elsewhere, of("b", {})], "owner", 0).filter(isGroup).map((group) => group.name)).toEqual(["ReplicaSet default/a", "ReplicaSet prod/a", "of no workload"]);
  });
  it("takes no grouping from an address that there is not", () => {
    expect(["owner", "colour", ""].map((group) => groupingOf(new URLSearchParams({ group })))).toEqual(["owner", "", ""]);
  });
});
