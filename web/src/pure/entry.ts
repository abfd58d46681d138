// What lists show of an object, out of the whole of it as Kubernetes writes it.
import type { Object as Told } from "../api/gen";

export interface Entry {
  namespace?: string;
  name?: string;
  uid?: string | undefined;
  revision?: string | undefined;
  keys?: string[] | undefined;
  message?: string | undefined;
  type?: string | undefined;
  immutable?: boolean | undefined;
  deleting?: boolean | undefined;
  phase?: string | undefined;
  claim?: string | undefined;
  volume?: string | undefined;
  capacity?: string | undefined;
  storageClass?: string | undefined;
  signerName?: string | undefined;
  object?: Record<string, unknown> | undefined;
}

/** Shape is as much of an object, of whichever kind, as entryOf looks at. */
interface Shape {
  metadata?: { deletionTimestamp?: string };
  type?: string;
  immutable?: boolean;
  spec?: {
    signerName?: string;
    storageClassName?: string;
    volumeName?: string;
    capacity?: { storage?: string };
    claimRef?: { namespace?: string; name?: string };
  };
  status?: { phase?: string; capacity?: { storage?: string } };
}

/** entryOf is an object as lists show it. What a claim has got it has once it is bound. */
export function entryOf(told: Told): Entry {
  const { metadata, spec, status, type, immutable } = (told.object ?? {}) as Shape;
  const bound = told.kind !== "PersistentVolumeClaim" || status?.phase === "Bound";
  const ref = spec?.claimRef;
  return {
    ...told,
    type,
    immutable,
    deleting: metadata?.deletionTimestamp !== undefined,
    phase: status?.phase,
    storageClass: spec?.storageClassName,
    capacity: bound ? (status?.capacity ?? spec?.capacity)?.storage : undefined,
    volume: bound ? spec?.volumeName : undefined,
    claim: ref ? `${ref.namespace}/${ref.name}` : undefined,
    signerName: spec?.signerName,
  };
}
