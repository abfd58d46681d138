// The kinds of what pods use beside images: one row makes the pages, calls and links of a kind.

type Fields = Record<string, unknown>;

export interface KindInfo {
  /** As in paths. */
  kind: string;
  one: string;
  many: string;
  namespaced: boolean;
  empty: string;
  /** The field of a pod's spec that names one. */
  named?: string;
  /** What lists say of one. */
  what?: (object: Fields) => string;
}

export const kinds = [
  { kind: "configmaps", one: "ConfigMap", many: "ConfigMaps", namespaced: true, empty: "Files and variables for pods." },
  { kind: "secrets", one: "Secret", many: "Secrets", namespaced: true, empty: "Values for pods, encrypted on the disk." },
  { kind: "persistentvolumeclaims", one: "PersistentVolumeClaim", many: "Claims", namespaced: true, empty: "Requests of pods for storage that outlives them." },
  { kind: "persistentvolumes", one: "PersistentVolume", many: "Volumes", namespaced: false, empty: "Storage that outlives pods." },
  { kind: "runtimeclasses", one: "RuntimeClass", many: "Runtime classes", namespaced: false, empty: "Alternatives to the default way to run pods.", named: "runtimeClassName", what: (o: Fields) => `handler ${o["handler"]}` },
  { kind: "clustertrustbundles", one: "ClusterTrustBundle", many: "Trust bundles", namespaced: false, empty: "Certificates of authorities for pods to trust." },
  { kind: "priorityclasses", one: "PriorityClass", many: "Priority classes", namespaced: false, empty: "Numbers that pods take by name.", named: "priorityClassName", what: (o: Fields) => `${o["value"]}${o["globalDefault"] ? ", by default" : ""}` },
  { kind: "networkpolicies", one: "NetworkPolicy", many: "Network policies", namespaced: true, empty: "What pods may send each other and the world." },
  { kind: "csidrivers", one: "CSIDriver", many: "CSI drivers", namespaced: false, empty: "How volumes of CSI drivers are published." },
  { kind: "leases", one: "Lease", many: "Leases", namespaced: true, empty: "Which of several programs leads, and until when.", what: (o: Fields) => String((o["spec"] as Fields | undefined)?.["holderIdentity"] ?? "") },
  { kind: "deployments", one: "Deployment", many: "Deployments", namespaced: true, empty: "Pods that are kept running, and replaced step by step." },
  { kind: "replicasets", one: "ReplicaSet", many: "Replica sets", namespaced: true, empty: "Pods that are kept running." },
  { kind: "daemonsets", one: "DaemonSet", many: "Daemon sets", namespaced: true, empty: "Pods that run once on each node." },
  { kind: "statefulsets", one: "StatefulSet", many: "Stateful sets", namespaced: true, empty: "Pods that keep their names and claims." },
  { kind: "jobs", one: "Job", many: "Jobs", namespaced: true, empty: "Pods that run until they succeed." },
  { kind: "cronjobs", one: "CronJob", many: "Cron jobs", namespaced: true, empty: "Jobs that start by a schedule.", what: (o: Fields) => String((o["spec"] as Fields)["schedule"]) },
  { kind: "controllerrevisions", one: "ControllerRevision", many: "Revisions", namespaced: true, empty: "Past templates of daemon sets and stateful sets." },
  { kind: "services", one: "Service", many: "Services", namespaced: true, empty: "Addresses and names that lead to pods." },
  { kind: "endpointslices", one: "EndpointSlice", many: "Endpoint slices", namespaced: true, empty: "The pods that services lead to." },
] as const satisfies readonly KindInfo[];

export type Kind = (typeof kinds)[number]["kind"];

export const kindOf = (kind: string): (KindInfo & { kind: Kind }) | undefined => kinds.find((k) => k.kind === kind);
