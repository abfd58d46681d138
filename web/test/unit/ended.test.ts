import { describe, expect, it } from "vitest";
import type { Pod } from "../../src/api/gen";
import type { Container } from "../../src/api/kube";
import { hasEnded } from "../../src/pure/ended";

const ended = (exitCode: number) => ({ terminated: { exitCode } });

/** pod returns a pod with an init container and an app container in given states. */
function pod(restartPolicy: string, first: object, main: object, own: Partial<Container> = {}): Pod {
  const spec = { restartPolicy, initContainers: [{ name: "first", ...own }], containers: [{ name: "main" }] };
  const status = { initContainerStatuses: [{ name: "first", state: first }], containerStatuses: [{ name: "main", state: main }] };
  return { phase: "POD_PHASE_RUNNING", object: { spec, status } } as Pod;
}

describe("hasEnded", () => {
  const runs = { running: {} };
  const cases: Array<[string, Pod, string, boolean]> = [
    ["what runs has not", pod("Never", runs, runs), "main", false],
    ["what comes first has when it went well", pod("Always", ended(0), runs), "first", true],
    ["what comes first and failed comes again", pod("Always", ended(1), runs), "first", false],
    ["a sidecar comes again", pod("Always", ended(0), runs, { restartPolicy: "Always" }), "first", false],
    ["a main container comes again by default", pod("Always", ended(0), ended(0)), "main", false],
    ["once it went well it need not", pod("OnFailure", ended(0), ended(0)), "main", true],
    ["on failure it has to", pod("OnFailure", ended(0), ended(3)), "main", false],
    ["it may never", pod("Never", ended(0), ended(3)), "main", true],
    ["its own policy counts", pod("Always", ended(1), runs, { restartPolicy: "Never" }), "first", true],
    ["rules are for the node to read", pod("Never", ended(1), runs, { restartPolicyRules: [{}] }), "first", false],
    ["what was added to look in has once it ended", { phase: "POD_PHASE_RUNNING", object: { spec: { ephemeralContainers: [{ name: "look" }] }, status: { ephemeralContainerStatuses: [{ name: "look", state: ended(1) }] } } }, "look", true],
    ["all has once the pod is over", { phase: "POD_PHASE_FAILED" } as Pod, "main", true],
  ];
  it.each(cases)("%s", (_, pod, name, want) => expect(hasEnded(pod, name)).toBe(want));
});
