// The containers of a pod, of every kind, each with its state.
import type { Container, ContainerStatus, PodObject } from "../api/kube";

export type ContainerKind = "init" | "sidecar" | "app" | "ephemeral";

export interface PodContainer {
  name: string;
  kind: ContainerKind;
  spec: Container;
  status: ContainerStatus | undefined;
}

/** hidden is the node's text for viewers in place of a variable's value. */
export const hidden = "[hidden from viewers]";

/** containersOf returns all containers in the order of their starts. */
export function containersOf({ spec, status }: PodObject): PodContainer[] {
  const list = (specs: Container[] = [], statuses: ContainerStatus[] = [], kind: (c: Container) => ContainerKind) =>
    specs.map((c) => ({ name: c.name, kind: kind(c), spec: c, status: statuses.find((s) => s.name === c.name) }));
  return [
    ...list(spec?.initContainers, status?.initContainerStatuses, (c) => (c.restartPolicy === "Always" ? "sidecar" : "init")),
    ...list(spec?.containers, status?.containerStatuses, () => "app"),
    ...list(spec?.ephemeralContainers, status?.ephemeralContainerStatuses, () => "ephemeral"),
  ];
}

/** lasts reports whether a container runs as long as its pod. */
export const lasts = ({ kind }: PodContainer) => kind === "app" || kind === "sidecar";

/** speaking returns the container whose log matters first: an init container that the others wait for, or an app. */
export function speaking(containers: readonly PodContainer[]): PodContainer[] {
  const init = containers.find((c) => c.kind === "init" && (c.status?.state?.running || c.status?.state?.terminated?.exitCode));
  const app = containers.find((c) => c.kind === "app");
  return [app?.status?.state?.waiting ? (init ?? app) : app].filter((c) => c !== undefined);
}
