// The undo of a bundle: a manifest of the state before it.
import type { Outcome } from "../api/gen";
import type { PodObject } from "../api/kube";
import { nameOf } from "./health";
import { manifestOfObject, manifestOfPod } from "./manifest";

type Thing = Pick<Outcome, "kind" | "namespace" | "name">;

export const idOf = ({ kind, namespace, name }: Thing) => `${kind}/${namespace ?? ""}/${name}`;
export const wordsOf = (thing: Thing) => `${thing.kind} ${thing.namespace ? nameOf(thing) : thing.name}`;

export interface Undo {
  manifest: string;
  /** The objects that are restored, by id. */
  back: string[];
  /** The objects that stay as the bundle left them, with reasons. */
  left: string[];
}

export const isChanged = ({ result }: Outcome) => result === "RESULT_UPDATED" || result === "RESULT_REPLACED";

/** undoOf makes the undo of an applied bundle from the state before it, by id. */
export function undoOf(outcomes: readonly Outcome[], before: ReadonlyMap<string, object>): Undo {
  const changed = outcomes.filter(isChanged);
  const known = changed.filter((o) => o.kind !== "Secret" && before.has(idOf(o)));
  const left = changed
    .filter((o) => !known.includes(o))
    .map((o) => `${wordsOf(o)}: ${o.kind === "Secret" ? "a browser keeps no secrets" : "its previous version is not known"}`);
  if (known.length > 0) left.push(...outcomes.filter((o) => o.result === "RESULT_CREATED").map((o) => `${wordsOf(o)}: it is new; delete it instead`));
  const texts = known.map((o) => (o.kind === "Pod" ? manifestOfPod : manifestOfObject)(before.get(idOf(o)) as PodObject & Record<string, unknown>));
  const notes = left.map((words) => `# Not rolled back: ${words}.\n`);
  return { manifest: notes.join("") + texts.join("---\n"), back: known.map(idOf), left };
}

/**
 * newest returns the undos to keep, newest first, within a number of characters. If one is too
 * large, older ones of the same objects go too: they would undo more than the last change.
 */
export function newest(undos: readonly Undo[], characters: number): Undo[] {
  let left = characters;
  const lost = new Set<string>();
  return undos.filter(({ manifest, back }) => {
    const stays = manifest.length <= left && !back.some((id) => lost.has(id));
    if (stays) left -= manifest.length;
    else back.forEach((id) => lost.add(id));
    return stays;
  });
}
