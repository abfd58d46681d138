import { describe, expect, it } from "vitest";
import { manifestOfPod } from "../../src/pure/manifest";
import { ordered, plainSpec } from "../../src/pure/plain";

const probe = { failureThreshold: 3, httpGet: { path: "/", port: 80, scheme: "HTTP" }, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1 };

describe("plainSpec", () => {
  it("drops what Kubernetes fills in", () => {
    const spec = {
      dnsPolicy: "ClusterFirst", enableServiceLinks: true, nodeName: "n", restartPolicy: "Always", schedulerName: "x", securityContext: {}, terminationGracePeriodSeconds: 30,
      containers: [{
        name: "a", image: "app:1", imagePullPolicy: "IfNotPresent", terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File",
        env: [{ name: "IP", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } }], ports: [{ containerPort: 80, protocol: "TCP" }], readinessProbe: probe,
        resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } },
      }],
      volumes: [{ name: "v", configMap: { defaultMode: 420, name: "c" } }],
    };
    expect(plainSpec(spec)).toEqual({
      containers: [{
        name: "a", image: "app:1", env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }], ports: [{ containerPort: 80 }],
        readinessProbe: { httpGet: { path: "/", port: 80 } }, resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } },
      }],
      volumes: [{ name: "v", configMap: { name: "c" } }],
    });
  });

  it("keeps what differs from that", () => {
    const spec = { dnsPolicy: "Default", restartPolicy: "Never", terminationGracePeriodSeconds: 0, containers: [{ name: "a", image: "app:1", imagePullPolicy: "Always", readinessProbe: { periodSeconds: 5, failureThreshold: 1 }, ports: [{ containerPort: 53, protocol: "UDP" }] }] };
    expect(plainSpec(spec)).toEqual(spec);
  });

  it.each([
    ["app", "Always", true], ["app:latest", "Always", true], ["app:1", "IfNotPresent", true], ["host:5000/app", "Always", true], ["app@sha256:1", "IfNotPresent", true],
    ["app", "IfNotPresent", false], ["app:1", "Always", false], ["app:1", "Never", false],
  ])("of the image %s, the policy %s is the usual one: %s", (image, imagePullPolicy, dropped) => {
    const made = plainSpec({ containers: [{ name: "a", image, imagePullPolicy }] as never })["containers"] as Array<{ imagePullPolicy?: string }>;
    expect(made[0]!.imagePullPolicy === undefined).toBe(dropped);
  });
});

describe("ordered", () => {
  it("puts names in front, long lists at the end, and leaves the rest in its order", () => {
    const spec = { containers: [{ args: ["x"], command: ["y"], image: "i", name: "n", tty: true }], hostNetwork: true, restartPolicy: "Never", volumes: [] };
    expect(JSON.stringify(ordered(spec))).toBe('{"restartPolicy":"Never","hostNetwork":true,"containers":[{"name":"n","image":"i","command":["y"],"args":["x"],"tty":true}],"volumes":[]}');
  });
});

it("a manifest reads as it was written", () => {
  const object = { metadata: { name: "a", namespace: "default", uid: "u" }, spec: { containers: [{ command: ["sh"], image: "busybox:1", imagePullPolicy: "IfNotPresent", name: "main", readinessProbe: { exec: { command: ["true"] }, failureThreshold: 3, periodSeconds: 2, successThreshold: 1, timeoutSeconds: 1 } }], restartPolicy: "Always" } };
  expect(manifestOfPod(object)).toBe(`apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default
spec:
  containers:
  - name: main
    image: busybox:1
    command:
    - sh
    readinessProbe:
      exec:
        command:
        - "true"
      periodSeconds: 2
`);
});
