// Pods as a person would write them: without what Kubernetes fills in, and with keys in the usual order.
import type { PodObject } from "../api/kube";

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** The values that Kubernetes gives to fields that are not set. */
const ofPod: Fields = { dnsPolicy: "ClusterFirst", restartPolicy: "Always", terminationGracePeriodSeconds: 30 };
const ofContainer: Fields = { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" };
const ofProbe: Fields = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const ofPort: Fields = { protocol: "TCP" };
const ofRequest: Fields = { scheme: "HTTP" };
const ofFiles: Fields = { defaultMode: 420 };
const ofFieldRef: Fields = { apiVersion: "v1" };

/** without drops the fields that have these values. */
const without = (from: Fields, values: Fields): Fields => Object.fromEntries(Object.entries(from).filter(([name, value]) => values[name] !== value));

/** changed applies a change to a part, if it is there, and drops what is empty then. */
function changed(from: Fields, name: string, change: (part: Fields) => Fields): Fields {
  const part = from[name];
  if (Array.isArray(part)) return { ...from, [name]: part.map((one: unknown) => (isFields(one) ? change(one) : one)) };
  return isFields(part) ? { ...from, [name]: change(part) } : from;
}

const plainProbe = (probe: Fields) => changed(without(probe, ofProbe), "httpGet", (request) => without(request, ofRequest));

/** pulled returns what Kubernetes takes for the pull policy of an image. */
const pulled = (image = "") => (/@/.test(image) || (/:[^/]+$/.test(image) && !image.endsWith(":latest")) ? "IfNotPresent" : "Always");

/** plainResources drops requests that are equal to their limits. */
function plainResources(resources: Fields): Fields {
  const { requests, limits, ...rest } = resources as { requests?: Fields; limits?: Fields };
  const own = requests && limits ? without(requests, limits) : (requests ?? {});
  return { ...rest, ...(!isEmpty(own) && { requests: own }), ...(limits && { limits }) };
}

function plainContainer(container: Fields): Fields {
  let made = without(container, { ...ofContainer, imagePullPolicy: pulled(container["image"] as string | undefined) });
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) made = changed(made, probe, plainProbe);
  made = changed(made, "ports", (port) => without(port, ofPort));
  made = changed(made, "env", (variable) => changed(variable, "valueFrom", (source) => changed(source, "fieldRef", (ref) => without(ref, ofFieldRef))));
  made = changed(made, "resources", plainResources);
  if (isEmpty(made["resources"])) delete made["resources"];
  return made;
}

function plainVolume(volume: Fields): Fields {
  let made = volume;
  for (const kind of ["configMap", "secret", "downwardAPI", "projected"]) made = changed(made, kind, (files) => without(files, ofFiles));
  return made;
}

/** plainSpec drops what Kubernetes fills in, and what the node alone sets. */
export function plainSpec(spec: PodObject["spec"]): Fields {
  const { nodeName: _, schedulerName: __, enableServiceLinks: ___, ...own } = { ...spec } as Fields;
  let made = without(own, ofPod);
  if (isEmpty(made["securityContext"])) delete made["securityContext"];
  for (const list of ["containers", "initContainers", "ephemeralContainers"]) made = changed(made, list, plainContainer);
  return changed(made, "volumes", plainVolume);
}

const usual = [
  ..."apiVersion kind metadata type immutable".split(" "),
  ..."name namespace image command args workingDir labels annotations restartPolicy ports env envFrom resources".split(" "),
  ..."startupProbe readinessProbe livenessProbe lifecycle securityContext volumeMounts key value valueFrom".split(" "),
];
const last = ["initContainers", "containers", "ephemeralContainers", "volumes", "status"];

/** rank puts what says which thing it is in front, and long lists at the end. */
function rank(name: string): number {
  if (last.includes(name)) return 1000 + last.indexOf(name);
  const at = usual.indexOf(name);
  return at < 0 ? usual.length : at;
}

/** ordered puts keys into the order in which people write them; others stay as they are, behind those. */
export function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => rank(a) - rank(b))
      .map(([name, part]) => [name, ordered(part)]),
  );
}
