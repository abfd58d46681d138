import { describe, expect, it } from "vitest";
import api from "../../../openapi/openapi.json?raw";
import { containersOf, hidden, lasts, speaking } from "../../src/pure/containers";
import { methodWords } from "../../src/pure/forms";
import { objectOf, readiness, whyOf } from "../../src/pure/health";
import { manifestOf } from "../../src/pure/manifest";
import { imageUsers, usesOf } from "../../src/pure/uses";

const held = { state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 20s restarting failed container" } }, lastState: { terminated: { exitCode: 3 } } };
const object = {
  metadata: { name: "all", namespace: "default" },
  spec: {
    initContainers: [{ name: "first" }, { name: "side", restartPolicy: "Always", image: "proxy:1" }],
    containers: [{ name: "main", env: [{ name: "A", value: hidden }] }],
    ephemeralContainers: [{ name: "look", image: "tools:1", envFrom: [{ prefix: "X_", configMapRef: { name: "settings" } }, { secretRef: { name: "login" } }] }],
  },
  status: {
    initContainerStatuses: [{ name: "first" }, { name: "side", restartCount: 2, ready: false, ...held }],
    containerStatuses: [{ name: "main", ready: true }],
    ephemeralContainerStatuses: [{ name: "look", imageID: "sha256:2", state: { running: {} } }],
  },
};
const pod = { namespace: "default", name: "all", reason: "CrashLoopBackOff", object };

describe("containersOf", () => {
  it("returns all kinds in the order of their starts, each with its status", () => {
    const got = containersOf(objectOf(pod)).map((c) => [c.name, c.kind, lasts(c), c.status?.name]);
    expect(got).toEqual([["first", "init", false, "first"], ["side", "sidecar", true, "side"], ["main", "app", true, "main"], ["look", "ephemeral", false, "look"]]);
  });
  it("returns nothing for an empty pod", () => expect(containersOf({})).toEqual([]));
  it("counts a sidecar and explains its back-off", () => {
    expect(readiness(pod)).toEqual({ ready: 1, all: 2 });
    expect(whyOf(pod)).toBe("side: exit code 3 · next start held back for 20s");
  });
  it("includes the objects that ephemeral containers name", () => {
    expect(usesOf(object).map((u) => `${u.kind}/${u.name}`)).toEqual(["configmaps/settings", "secrets/login"]);
    expect([...imageUsers([{ id: "sha256:2" }], [pod]).keys()]).toEqual(["sha256:2"]);
  });
});

it("the log that matters first is that of the init container for which the others wait", () => {
  const of = (init: object, app: object) => speaking(containersOf({ spec: { initContainers: [{ name: "wait" }], containers: [{ name: "main" }, { name: "side" }] }, status: { initContainerStatuses: [{ name: "wait", state: init }], containerStatuses: [{ name: "main", state: app }] } })).map((c) => c.name);
  expect(of({ running: {} }, { waiting: { reason: "PodInitializing" } })).toEqual(["wait"]);
  expect(of({ terminated: { exitCode: 1 } }, { waiting: { reason: "PodInitializing" } })).toEqual(["wait"]);
  expect(of({ terminated: { exitCode: 0 } }, { running: {} })).toEqual(["main"]);
  expect(of({ terminated: { exitCode: 0 } }, { waiting: { reason: "CrashLoopBackOff" } })).toEqual(["main"]);
  expect(speaking([])).toEqual([]);
});

describe("a value that is hidden", () => {
  it("has the node's own text", () => expect(api.includes(hidden)).toBe(true));
  it("stays in a manifest, so that the node refuses it", () => expect(manifestOf(pod)).toContain(hidden));
});

it.each([["PodsService/ListPods", "list pods"], ["ManifestsService/Plan", "plan"], ["PersistentVolumeClaimsService/GetPersistentVolumeClaim", "get persistent volume claim"]])("%s is to %s", (rpc, want) => expect(methodWords(rpc)).toBe(want));
