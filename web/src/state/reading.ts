// What an editor has read, so that it does not overwrite what others change meanwhile.
import { signal } from "@preact/signals";
import type { GetObjectResponse, GetPodResponse, PlanResponse } from "../api/gen";
import { ApiError, perform } from "../api/request";
import { getObject, getPod, planManifests } from "../pure/calls";
import { objectsOf } from "../pure/documents";
import { manifestOf, manifestOfObject } from "../pure/manifest";
import type { PodName } from "../pure/health";
import type { KindInfo } from "../pure/kinds";
import { onLeaving } from "./session";

interface State {
  text: string;
  revision: string;
}

/** Reading is the state of one object when it was read. */
export interface Reading extends State {
  name: string;
  again: () => Promise<State>;
}

export async function readPod(named: PodName): Promise<Reading> {
  const again = async () => {
    const { pod = {} } = await perform<GetPodResponse>(getPod(named));
    return { text: manifestOf(pod), revision: pod.revision ?? "" };
  };
  return { name: `pod ${named.namespace}/${named.name}`, again, ...(await again()) };
}

export async function readForEdit(info: KindInfo, named: PodName): Promise<Reading> {
  const again = async () => {
    const { object = {} } = await perform<GetObjectResponse>(getObject(info, named));
    return { text: manifestOfObject((object.object ?? {}) as Record<string, unknown>), revision: object.revision ?? "" };
  };
  return { name: `${info.one} ${named.namespace ? `${named.namespace}/` : ""}${named.name}`, again, ...(await again()) };
}

/** Overtaken says that others have changed what was read. */
export class Overtaken extends Error {}

/** reading holds what the editor has read. It stays, as the draft does, while the user visits other pages. */
export const reading = signal<Reading | null>(null);
onLeaving(() => (reading.value = null));

/** present reads it again; null if it is gone. */
export async function present(read: Reading): Promise<Reading | null> {
  try {
    return { ...read, ...(await read.again()) };
  } catch (error) {
    if (error instanceof ApiError && error.http === 404) return null;
    throw error;
  }
}

const most = 5; // tries: the status of a pod changes at any time, and counts as a change of it
const aborted = 10; // the code of gRPC: the object has changed

const namesIn = (bundle: string) => objectsOf(bundle).map(({ kind, metadata }) => `${kind}/${metadata?.namespace ?? "default"}/${metadata?.name}`);

/** holds reports whether a bundle has the object that was read. An empty one could. */
function holds(bundle: string, read: Reading): boolean {
  const names = namesIn(bundle);
  return names.length === 0 || names.includes(namesIn(read.text)[0]!);
}

/** unlessOvertaken sends a bundle. If what was read is all of it, the change has the revision until which nothing else has changed. */
export async function unlessOvertaken<T>(read: Reading | null, bundle: string, change: (since: string) => Promise<T>): Promise<T> {
  if (!read || !holds(bundle, read)) return change("");
  const names = namesIn(bundle);
  for (let left = most; ; left--) {
    const now = await present(read);
    if (now?.text !== read.text) throw new Overtaken(`${read.name} ${now ? "has changed since it was read here" : "is gone"}.`);
    try {
      return await change(names.length === 1 ? now.revision : "");
    } catch (error) {
      if (!(error instanceof ApiError && error.code === aborted)) throw error;
      if (left === 1) throw new Overtaken(error.message);
    }
  }
}

/** applyRead is unlessOvertaken for what the editor has read. The next change is one of what was applied. */
export async function applyRead(bundle: string, change: (since: string) => Promise<void>): Promise<void> {
  const before = reading.value;
  await unlessOvertaken(before, bundle, change);
  const now = before && holds(bundle, before) ? await applied(before, bundle).catch(() => before) : before;
  if (reading.value === before) reading.value = now;
}

/** applied reads what a bundle has made of an object. If others have changed that already, what was read before stays, so that
 *  the next change is overtaken. The revision does not tell: the status of the object counts for it. */
async function applied(before: Reading, bundle: string): Promise<Reading | null> {
  const now = await present(before);
  if (!now) return null;
  const { outcomes = [] } = await perform<PlanResponse>(planManifests(), bundle);
  return outcomes.every(({ result }) => result === "RESULT_UNCHANGED") ? now : before;
}
