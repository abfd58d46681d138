// The list of pods in groups.
import type { Pod } from "../api/gen";
import { healthOf, objectOf } from "./health";

export const groupings = { namespace: "By namespace", app: "By app", owner: "By workload", source: "By source" } as const;

export type Grouping = keyof typeof groupings;

export interface Group {
  name: string;
  count: number;
  troubled: number;
}

export const groupingOf = (query: URLSearchParams): Grouping | "" => (Object.keys(groupings) as Grouping[]).find((by) => by === query.get("group")) ?? "";

const none: Record<Grouping, string> = { namespace: "", app: "without the label app", owner: "of no workload", source: "" };

const troubles = new Set(["failing", "failed"]);

const appLabels = ["app.kubernetes.io/name", "app", "k8s-app"];

function nameIn(pod: Pod, by: Grouping): string {
  const { labels = {}, ownerReferences = [] } = (objectOf(pod).metadata ?? {}) as { labels?: Record<string, string>; ownerReferences?: Array<{ kind: string; name: string }> };
  const names: Record<Grouping, () => string | undefined> = {
    namespace: () => pod.namespace,
    source: () => pod.source,
    app: () => appLabels.map((label) => labels[label]).find(Boolean),
    owner: () => ownerReferences[0] && `${ownerReferences[0].kind} ${pod.namespace}/${ownerReferences[0].name}`,
  };
  return names[by]() || none[by];
}

/** grouped puts a head before the pods of each group. Groups stand in the order of their first pods, and pods in their order. */
export function grouped(pods: readonly Pod[], by: Grouping | "", at: number): Array<Pod | Group> {
  if (!by) return [...pods];
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const name = nameIn(pod, by);
    groups.set(name, [...(groups.get(name) ?? []), pod]);
  }
  return [...groups].flatMap(([name, own]) => [{ name, count: own.length, troubled: own.filter((pod) => troubles.has(healthOf(pod, at))).length }, ...own]);
}

export const isGroup = (row: Pod | Group): row is Group => "troubled" in row;
