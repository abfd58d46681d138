import { describe, expect, it } from "vitest";
import openapi from "../../../openapi/openapi.json?raw";
import { type Known, offersAt, type Schema } from "../../src/pure/complete";

const known: Known = {
  schemas: (JSON.parse(openapi) as { components: { schemas: Record<string, Schema> } }).components.schemas,
  capabilities: [
    { field: "spec.priority", support: "SUPPORT_WITHOUT_EFFECT", note: "pods are not ranked here" },
    { field: "spec.resourceClaims", support: "SUPPORT_REFUSED", note: "the node assigns no devices" },
    { field: "spec.containers.image", support: "SUPPORT_HONOURED", note: "" },
  ],
};

/** offers returns the labels offered at the bar in a text. */
function offers(text: string) {
  const [before, after] = text.split("|");
  return offersAt(before!.split("\n"), after!.split("\n").slice(1), known);
}
const labels = (text: string) => offers(text).map((o) => o.label);

const pod = "apiVersion: v1\nkind: Pod\n";

describe("offersAt", () => {
  const cases: Array<[string, string, string[], string[]]> = [
    ["a document begins with what all have", "|", ["apiVersion", "kind", "metadata"], ["spec", "data"]],
    ["the kinds that the node takes", "kind: |", ["Pod", "ConfigMap", "Secret", "PersistentVolume", "PersistentVolumeClaim", "RuntimeClass", "ClusterTrustBundle"], ["Ingress"]],
    ["the version of a kind", "kind: RuntimeClass\napiVersion: |", ["node.k8s.io/v1"], ["v1"]],
    ["a pod has a spec", `${pod}s|`, ["spec"], ["data", "status"]],
    ["a ConfigMap has none", "kind: ConfigMap\n|", ["data", "binaryData", "immutable"], ["spec"]],
    ["the kind may come last", "|\nkind: Secret\n", ["stringData", "type"], ["spec"]],
    ["each document has a kind of its own", `${pod}---\nkind: ConfigMap\n|\n---\nkind: Secret\n`, ["data"], ["spec", "stringData"]],
    ["the fields of a container", `${pod}spec:\n  containers:\n  - name: a\n    im|`, ["image", "imagePullPolicy"], ["containers"]],
    ["those of the first line of one", `${pod}spec:\n  containers:\n    - |`, ["name", "image"], ["containers"]],
    ["deeper than a list in a list", `${pod}spec:\n  containers:\n  - name: a\n    ports:\n    - containerPort: 80\n      |`, ["protocol", "hostPort"], ["image"]],
    ["fields below a struct of volumes", `${pod}spec:\n  volumes:\n  - name: a\n    hostPath:\n      |`, ["path", "type"], ["hostPath"]],
    ["the words of a field", `${pod}spec:\n  restartPolicy: |`, ["Always", "OnFailure", "Never"], ["spec"]],
    ["those in a list of words", "kind: PersistentVolumeClaim\nspec:\n  accessModes:\n  - |", ["ReadWriteOnce", "ReadWriteMany"], ["accessModes"]],
    ["yes or no", `${pod}spec:\n  hostNetwork: t|`, ["true", "false"], []],
    ["types of secrets, others being good too", "kind: Secret\ntype: |", ["Opaque", "kubernetes.io/tls"], []],
    ["back at the top after the spec", `${pod}spec:\n  containers:\n  - name: a\nm|`, ["metadata"], ["name"]],
  ];
  it.each(cases)("%s", (_, text, want, unwanted) => {
    const got = labels(text);
    expect(got).toEqual(expect.arrayContaining(want));
    for (const name of unwanted) expect(got).not.toContain(name);
  });
  const none: Array<[string, string]> = [
    ["in a text", `${pod}spec:\n  hostname: |`],
    ["below a key of one's own", "kind: ConfigMap\ndata:\n  |"],
    ["for a kind that is not taken", "kind: Ingress\nspec:\n  |"],
    ["behind a comment", `${pod}spec: # of |`],
  ];
  it.each(none)("offers nothing %s", (_, text) => expect(labels(text)).toEqual([]));
  it("says what a field is for, in Kubernetes' words", () => {
    expect(offers("kind: ConfigMap\n|").find((o) => o.label === "data")?.info).toBe("Data contains the configuration data.");
    expect(offers(`${pod}|`).find((o) => o.label === "spec")?.info).toBe("Specification of the desired behavior of the pod.");
  });
  it("says what this node does with a field of a pod", () => {
    const of = (name: string) => offers(`${pod}spec:\n  |`).find((o) => o.label === name);
    expect(of("priority")).toEqual({ label: "priority", apply: "priority: ", detail: "without effect here", info: "The priority value. Here: pods are not ranked here" });
    expect(of("resourceClaims")).toMatchObject({ apply: "resourceClaims:", detail: "refused here" });
    expect(of("hostNetwork")).toMatchObject({ detail: "" });
  });
});
