// The fields of a Kubernetes pod that pages show. The API returns the whole object as JSON; these
// types are views of it, with every field optional.

export interface State {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: Terminated;
}

export interface Terminated {
  exitCode?: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: string;
  finishedAt?: string;
}

export interface ContainerStatus {
  name: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  image?: string;
  imageID?: string;
  containerID?: string;
  state?: State;
  lastState?: State;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: Record<string, Record<string, unknown>>;
}

export interface EnvFrom {
  prefix?: string;
  configMapRef?: { name?: string };
  secretRef?: { name?: string };
}

export interface Resources {
  requests?: Record<string, string>;
  limits?: Record<string, string>;
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  env?: EnvVar[];
  envFrom?: EnvFrom[];
  ports?: Array<{ name?: string; containerPort: number; hostPort?: number; protocol?: string }>;
  resources?: Resources;
  restartPolicy?: string;
  restartPolicyRules?: object[];
  volumeMounts?: Array<{ name: string; mountPath: string; readOnly?: boolean; subPath?: string }>;
  stdin?: boolean;
  tty?: boolean;
  livenessProbe?: object;
  readinessProbe?: object;
  startupProbe?: object;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Volume {
  name: string;
  [source: string]: unknown;
}

export interface PodObject {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> } & Record<string, unknown>;
  spec?: {
    containers?: Container[];
    initContainers?: Container[];
    ephemeralContainers?: Container[];
    volumes?: Volume[];
    restartPolicy?: string;
    resources?: Resources;
    overhead?: Record<string, string>;
  } & Record<string, unknown>;
  status?: {
    phase?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
    ephemeralContainerStatuses?: ContainerStatus[];
    qosClass?: string;
    startTime?: string;
  } & Record<string, unknown>;
}
