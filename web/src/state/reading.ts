// What an editor has read, so that it does not overwrite what others change meanwhile.
import type { GetObjectResponse, GetPodResponse } from "../api/gen";
import { ApiError, perform } from "../api/request";
import { getObject, getPod } from "../pure/calls";
import { manifestOf, manifestOfObject } from "../pure/manifest";
import type { PodName } from "../pure/health";
import type { KindInfo } from "../pure/kinds";

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

const most = 5; // tries: the status of a pod changes at any time, and counts as a change of it

/** unlessOvertaken sends a change with the revision until which nothing else has changed. */
export async function unlessOvertaken<T>(reading: Reading | null, change: (since: string) => Promise<T>): Promise<T> {
  if (!reading) return change("");
  for (let left = most; ; left--) {
    const now = await reading.again();
    if (now.text !== reading.text) throw new Overtaken(`${reading.name} has changed since it was read here.`);
    try {
      return await change(now.revision);
    } catch (error) {
      if (left === 1 || !(error instanceof ApiError && error.http === 409)) throw error;
    }
  }
}
