// The row of an object in a list, from the whole Kubernetes object.
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
  source?: string | undefined;
  origin?: string | undefined;
  object?: Record<string, unknown> | undefined;
}

/** Shape holds the fields of any object that entryOf reads. */
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

/** placeOf names the file or URL where alone an object is changed; undefined for one of the API. */
export const placeOf = ({ source, origin }: Pick<Entry, "source" | "origin">) => (origin ? `${source === "url" ? "the URL" : "the file"} ${origin}` : undefined);

/** entryOf returns the row of an object. A claim has its storage only once it is bound. */
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
