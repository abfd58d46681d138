import { describe, expect, it } from "vitest";
import { debugCommand, debugPatch, freshName, shellOf } from "../../src/pure/debug";

const pod = { namespace: "default", name: "web", object: { spec: { containers: [{ name: "main" }], ephemeralContainers: [{ name: "debugger-1" }] } } };
const wanted = { name: "debugger-2", image: "a/busybox:1", target: "main" };

describe("a debug container", () => {
  it("has a name of its own", () => expect(freshName(pod)).toBe("debugger-2"));

  it("is added to the pod, with a terminal, and sees the processes of its target", () => {
    const { path, body } = debugPatch(pod, wanted);
    expect(path).toBe("/api/v1/namespaces/default/pods/web/ephemeralcontainers");
    const [added] = (JSON.parse(body) as { spec: { ephemeralContainers: object[] } }).spec.ephemeralContainers;
    expect(added).toMatchObject({ name: "debugger-2", image: "a/busybox:1", targetContainerName: "main", stdin: true, tty: true, command: ["sh"] });
  });

  it("is a command of kubectl too", () => expect(debugCommand(pod, wanted)).toBe("kubectl debug -it web -n default --image=a/busybox:1 --target=main -- sh"));

  it("has an image with a shell, if the node has one", () => {
    expect([["a/app:1", "b/alpine:3"], ["a/app:1"], []].map(shellOf)).toEqual(["b/alpine:3", "a/app:1", "busybox"]);
  });
});
