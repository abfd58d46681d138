import { describe, expect, it } from "vitest";
import { probeStrip } from "../../src/pure/probes";
import { pullWords, stageOf, standingOf } from "../../src/pure/progress";
import { fullName, imageUsers, usesOf } from "../../src/pure/uses";
import { usersOf } from "../../src/state/objects";

describe("usesOf", () => {
  it("finds the objects of volumes, variables and pulls, each once", () => {
    const uses = usesOf({
      spec: {
        volumes: [
          { name: "a", configMap: { name: "settings" } },
          { name: "b", secret: { secretName: "key" } },
          { name: "c", projected: { sources: [{ configMap: { name: "more" } }, { secret: { name: "key" } }, { downwardAPI: {} }, { clusterTrustBundle: { name: "root" } }, { clusterTrustBundle: { signerName: "example.com/ca" } }] } },
          { name: "d", persistentVolumeClaim: { claimName: "data" } },
          { name: "e", emptyDir: {} },
        ],
        containers: [{ name: "x", env: [{ name: "A", valueFrom: { secretKeyRef: { name: "login", key: "k" } } }, { name: "B", value: "b" }], envFrom: [{ configMapRef: { name: "env" } }] } as never],
        imagePullSecrets: [{ name: "registry" }],
        runtimeClassName: "other",
        priorityClassName: "high",
      },
    });
    expect(uses.map((u) => `${u.kind}/${u.name}`).sort()).toEqual([
      "clustertrustbundles/example.com/ca", "clustertrustbundles/root", "configmaps/env", "configmaps/more", "configmaps/settings", "persistentvolumeclaims/data", "priorityclasses/high", "runtimeclasses/other", "secrets/key", "secrets/login", "secrets/registry",
    ]);
  });
});

describe("imageUsers", () => {
  it.each([["busybox", "docker.io/library/busybox:latest"], ["me/app:1", "docker.io/me/app:1"], ["host:5000/app", "host:5000/app:latest"], ["localhost/a@sha256:1", "localhost/a@sha256:1"]])("calls %s in full", (short, full) => {
    expect(fullName(short)).toBe(full);
  });
  it("finds a pod by its wanted image and by its running one", () => {
    const images = [{ id: "sha256:1", references: ["docker.io/library/busybox:latest"] }, { id: "sha256:2" }];
    const pod = { name: "a", object: { spec: { containers: [{ name: "x", image: "busybox" }] }, status: { containerStatuses: [{ name: "x", imageID: "sha256:2" }] } } };
    const users = imageUsers(images, [pod]);
    expect([users.get("sha256:1")?.length, users.get("sha256:2")?.length]).toEqual([1, 1]);
  });
});

describe("probeStrip", () => {
  const event = (t: number, message: string, more = {}) => ({ uid: "u", container: "c", reason: "Unhealthy", time: new Date(t * 1000).toISOString(), message, ...more });
  const of = { uid: "u", container: "c", kind: "readiness", from: 0, to: 1000_000, period: 10 } as const;
  it("shows when a probe failed and its last message", () => {
    const strip = probeStrip([event(990, "Readiness probe failed: no leader", { count: 2 }), event(100, "Readiness probe failed: slow"), event(500, "Liveness probe failed: x"), event(1, "other", { container: "d" })], of);
    expect(strip.parts.map((p) => [p.from, p.to, p.count])).toEqual([[100, 110, 1], [990, 1000, 2]]);
    expect(strip).toMatchObject({ failures: 3, failing: true, last: "no leader, 10s ago" });
  });
  it("is good when the last failure is long ago", () => {
    expect(probeStrip([event(100, "Readiness probe failed: slow")], of)).toMatchObject({ failing: false, failures: 1 });
    expect(probeStrip([], of)).toMatchObject({ failing: false, failures: 0, last: "" });
  });
});

describe("progress", () => {
  const pod = { uid: "new", revision: "7", phase: "POD_PHASE_RUNNING", ready: true } as const;
  it("waits for the end of the previous pod, and for news of a change in place", () => {
    expect(stageOf({ uid: "new", revision: "7" }, { ...pod, uid: "old" })).toBe("waiting");
    expect(stageOf({ uid: "new", revision: "8" }, pod)).toBe("waiting");
    expect(stageOf({ uid: "new", revision: "7" }, pod)).toBe("ready");
    expect(stageOf({ uid: "new" }, { ...pod, ready: false, reason: "CrashLoopBackOff" })).toBe("trouble");
    expect(stageOf({}, undefined)).toBe("waiting");
  });
  it("is over when no pod is waited for", () => {
    expect(standingOf(["ready", "ended"])).toMatchObject({ over: true });
    expect(standingOf(["ready", "trouble", "waiting"])).toEqual({ all: 3, waiting: 1, trouble: 1, over: false });
  });
});

describe("pullWords", () => {
  it("waits, pulls, and counts if the runtime reports bytes", () => {
    const beganAt = "2026-01-01T00:00:00Z";
    expect([pullWords({}), pullWords({ beganAt }), pullWords({ beganAt, bytes: { present: "1048576", total: "4194304" } })]).toEqual(["has waited in the queue for", "pulling for", "1.0 MiB of 4.0 MiB after"]);
  });
});

describe("usersOf", () => {
  const pod = (namespace: string, claimName: string) => ({ namespace, name: "web", object: { spec: { volumes: [{ name: "data", persistentVolumeClaim: { claimName } }] } } });
  const pods = [pod("default", "orders"), pod("other", "orders")];
  it("compares the namespace", () => expect(usersOf(pods, "persistentvolumeclaims", { namespace: "other", name: "orders" })).toEqual([pods[1]]));
  it("finds the users of a volume by its claim", () => expect(usersOf(pods, "persistentvolumes", { name: "pvc-1", claim: "default/orders" })).toEqual([pods[0]]));
  it("finds the users of a signer's bundle", () => {
    const trusting = { namespace: "default", name: "web", object: { spec: { volumes: [{ name: "ca", projected: { sources: [{ clusterTrustBundle: { signerName: "example.com/ca" } }] } }] } } };
    expect(usersOf([trusting, ...pods], "clustertrustbundles", { name: "example.com:ca:v1", signerName: "example.com/ca" })).toEqual([trusting]);
  });
  it("finds no users of a volume without a claim", () => expect(usersOf(pods, "persistentvolumes", { name: "pvc-1" })).toEqual([]));
});
