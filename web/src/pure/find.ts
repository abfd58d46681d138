// Search, filter and order of the list of pods.
import type { Pod } from "../api/gen";
import { containersOf } from "./containers";
import { type Health, healthOf, healths, objectOf, readiness } from "./health";
import type { Use } from "./usage";

export type Column = "health" | "name" | "ready" | "restarts" | "cpu" | "memory" | "age" | "ip" | "source";

export interface Wanted {
  text: string;
  health: Health | "";
  sort: Column;
  down: boolean;
}

/** wantedOf reads a search from an address and ignores invalid parts. */
export function wantedOf(query: URLSearchParams): Wanted {
  const health = healths.find((h) => h === query.get("state")) ?? "";
  const sort = columns.find((c) => c === query.get("sort")) ?? "health";
  return { text: query.get("q") ?? "", health, sort, down: query.get("down") === "1" };
}

/** matches reports whether a pod has every word somewhere: in a name, a reason, a label, an image, an address. */
export function matches(pod: Pod, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const object = objectOf(pod);
  const labels = Object.entries(object.metadata?.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const images = containersOf(object).map((c) => c.spec.image ?? "");
  const text = [pod.namespace, "/", pod.name, " ", pod.reason, pod.message, ...labels, ...images, ...(pod.podIps ?? []), pod.source]
    .join(" ")
    .toLowerCase();
  const name = `${pod.namespace}/${pod.name}`.toLowerCase();
  return words.every((word) => text.includes(word) || name.includes(word));
}

const byText = (a = "", b = "") => (a < b ? -1 : a > b ? 1 : 0);

type Uses = ReadonlyMap<string, Use>;

const used = (pod: Pod, uses: Uses, what: keyof Use) => uses.get(pod.uid ?? "")?.[what] ?? -1;

const compare: Record<Column, (a: Pod, b: Pod, uses: Uses, at: number) => number> = {
  health: (a, b, _, at) => healths.indexOf(healthOf(a, at)) - healths.indexOf(healthOf(b, at)),
  name: () => 0,
  ready: (a, b) => share(a) - share(b),
  restarts: (a, b) => (b.restarts ?? 0) - (a.restarts ?? 0),
  cpu: (a, b, uses) => used(b, uses, "cores") - used(a, uses, "cores"),
  memory: (a, b, uses) => used(b, uses, "memory") - used(a, uses, "memory"),
  age: (a, b) => byText(b.acceptedAt, a.acceptedAt),
  ip: (a, b) => byText(a.podIps?.[0], b.podIps?.[0]),
  source: (a, b) => byText(a.source, b.source),
};

const columns = Object.keys(compare) as Column[];

function share(pod: Pod): number {
  const { ready, all } = readiness(pod);
  return all ? ready / all : 0;
}

/** find sorts equal pods by name, so that rows do not jump. Pods that are late are in trouble at a time, the node's. */
export function find(pods: readonly Pod[], wanted: Wanted, uses: Uses = new Map(), at = 0): Pod[] {
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  const sign = wanted.down ? -1 : 1;
  return pods
    .filter((pod) => (!wanted.health || healthOf(pod, at) === wanted.health) && matches(pod, words))
    .sort(
      (a, b) =>
        sign * (compare[wanted.sort](a, b, uses, at) || (wanted.sort === "name" ? byName(a, b) : 0)) || byName(a, b),
    );
}

const byName = (a: Pod, b: Pod) => byText(a.namespace, b.namespace) || byText(a.name, b.name);

export function tally(pods: readonly Pod[], at = 0): Map<Health, number> {
  const counts = new Map<Health, number>();
  for (const pod of pods) {
    const health = healthOf(pod, at);
    counts.set(health, (counts.get(health) ?? 0) + 1);
  }
  return counts;
}
