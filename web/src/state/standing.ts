// The present state of the objects that a bundle would change.
import type { Outcome } from "../api/gen";
import { keyOf } from "../pure/health";
import { idOf, isChanged } from "../pure/undo";
import { pods } from "./live";
import { kinds, readObject } from "./objects";

/** readStanding returns the state by id, without Secrets: each reading of a Secret is logged. */
export async function readStanding(outcomes: readonly Outcome[]): Promise<ReadonlyMap<string, object>> {
  const found = await Promise.all(outcomes.filter(isChanged).map(async (o) => [idOf(o), await standing(o).catch(() => undefined)] as const));
  return new Map(found.filter((entry): entry is [string, object] => entry[1] !== undefined));
}

async function standing(outcome: Outcome): Promise<object | undefined> {
  if (outcome.kind === "Pod") return pods.value.get(keyOf(outcome))?.object;
  const info = kinds.find((k) => k.one === outcome.kind);
  if (!info || outcome.kind === "Secret") return undefined;
  return (await readObject(info, { namespace: outcome.namespace!, name: outcome.name! })).object;
}
