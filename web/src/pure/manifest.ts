// Manifests as text: examples, and the manifest of an existing pod.
import type { Pod } from "../api/gen";
import type { PodObject } from "../api/kube";
import { objectOf } from "./health";
import { ordered, plainSpec } from "./plain";
import { toYaml } from "./yaml";

/** manifestOf returns the manifest of a pod, without the fields that the node has filled in. */
export const manifestOf = (pod: Pod) => manifestOfPod(objectOf(pod));

export function manifestOfPod(object: PodObject): string {
  const { name, namespace, labels, annotations } = (object.metadata ?? {}) as Record<string, unknown>;
  const metadata = JSON.parse(JSON.stringify({ name, namespace, labels, annotations })) as object;
  return toYaml({ apiVersion: "v1", kind: "Pod", metadata, spec: ordered(plainSpec(object.spec)) });
}

/** manifestOfObject does the same for other objects. */
export function manifestOfObject(object: Record<string, unknown>): string {
  const { status: _, ...rest } = object;
  const { uid, creationTimestamp, resourceVersion, generation, managedFields, ...metadata } = (rest["metadata"] ?? {}) as Record<string, unknown>;
  return toYaml({ ...rest, metadata });
}

/** examples use an image that the node has, so that they work as they are. */
export function examples(image: string): Array<{ name: string; text: string }> {
  return [
    {
      name: "A pod",
      text: `apiVersion: v1
kind: Pod
metadata:
  name: hello
  labels: {app: hello}
spec:
  containers:
  - name: hello
    image: ${image}
    command: [sh, -c, "while true; do echo hello at $(date); sleep 1; done"]
    resources:
      requests: {cpu: 50m, memory: 16Mi}
`,
    },
    {
      name: "With a ConfigMap and a probe",
      text: `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  greeting: hello
---
apiVersion: v1
kind: Pod
metadata:
  name: configured
spec:
  containers:
  - name: main
    image: ${image}
    command: [sh, -c, "touch /tmp/ready; while true; do cat /etc/settings/greeting; echo; sleep 5; done"]
    readinessProbe:
      exec: {command: [test, -e, /tmp/ready]}
      periodSeconds: 2
    volumeMounts:
    - {name: settings, mountPath: /etc/settings}
  volumes:
  - name: settings
    configMap: {name: settings}
`,
    },
    {
      name: "A job with a first step",
      text: `apiVersion: v1
kind: Pod
metadata:
  name: job
spec:
  restartPolicy: Never
  initContainers:
  - name: prepare
    image: ${image}
    command: [sh, -c, "echo preparing; sleep 2; echo 42 > /work/input"]
    volumeMounts:
    - {name: work, mountPath: /work}
  containers:
  - name: work
    image: ${image}
    command: [sh, -c, "cat /work/input; sleep 5; echo done"]
    volumeMounts:
    - {name: work, mountPath: /work}
  volumes:
  - name: work
    emptyDir: {}
`,
    },
  ];
}

/** fieldPath splits "spec.containers[0].image" into the keys that lead there. */
export function fieldPath(text: string): Array<string | number> {
  const keys: Array<string | number> = [];
  for (const found of text.matchAll(/([^.[\]]+)|\[(\d+)\]|\[([^\]]+)\]/g)) {
    if (found[1] !== undefined) keys.push(found[1]);
    else if (found[2] !== undefined) keys.push(Number(found[2]));
    else keys.push(found[3]!);
  }
  return keys;
}

/**
 * placeOf parses the place of a violation: "document 1 (Pod default/x): spec.containers[0].image".
 * The document is an index.
 */
export function placeOf(field: string): { document: number; path: Array<string | number> } {
  const found = /^document (\d+)(?: \([^)]*\))?(?:: (.*))?$/.exec(field);
  return found ? { document: Number(found[1]) - 1, path: fieldPath(found[2] ?? "") } : { document: 0, path: fieldPath(field) };
}

/** at returns the value at the end of a path. */
export function at(value: unknown, path: ReadonlyArray<string | number>): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<string | number, unknown>)[key];
  }
  return here;
}
