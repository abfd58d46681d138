// Which pods use which images, configuration, secrets and claims.
import type { Image, Pod } from "../api/gen";
import type { PodObject } from "../api/kube";
import { containersOf } from "./containers";
import { objectOf } from "./health";
import { type Kind, type KindInfo, kinds } from "./kinds";

export interface Use {
  kind: Kind;
  name: string;
}

type Fields = Record<string, unknown> | undefined;

const at = (value: Fields, ...path: string[]) => path.reduce<unknown>((here, key) => (here as Fields)?.[key], value) as string | undefined;

/** usesOf returns every object that a pod names, each once. */
export function usesOf(object: PodObject): Use[] {
  const found = new Map<string, Use>();
  const add = (kind: Kind, name: string | undefined) => name && found.set(`${kind}/${name}`, { kind, name });
  const spec = object.spec ?? {};
  for (const volume of spec.volumes ?? []) {
    for (const use of volumeUses(volume)) add(use.kind, use.name);
  }
  for (const { spec: c } of containersOf(object)) {
    for (const e of c.env ?? []) {
      add("configmaps", at(e.valueFrom, "configMapKeyRef", "name"));
      add("secrets", at(e.valueFrom, "secretKeyRef", "name"));
    }
    for (const e of c.envFrom ?? []) {
      add("configmaps", e.configMapRef?.name);
      add("secrets", e.secretRef?.name);
    }
  }
  for (const s of (spec["imagePullSecrets"] as Array<{ name?: string }> | undefined) ?? []) add("secrets", s.name);
  for (const k of kinds as readonly (KindInfo & { kind: Kind })[]) if (k.named) add(k.kind, at(spec, k.named));
  return [...found.values()];
}

/**
 * volumeUses returns the objects of a volume or its projections. For trust bundles it may be a
 * signer's name, which stands for all its bundles.
 */
export function volumeUses(volume: Record<string, unknown>): Use[] {
  const projected = ((volume["projected"] as { sources?: Fields[] } | undefined)?.sources ?? []).flatMap((s) => volumeUses(s ?? {}));
  const own: Array<[Kind, string | undefined]> = [
    ["configmaps", at(volume, "configMap", "name")],
    ["secrets", at(volume, "secret", "secretName") ?? at(volume, "secret", "name")],
    ["persistentvolumeclaims", at(volume, "persistentVolumeClaim", "claimName")],
    ["clustertrustbundles", at(volume, "clusterTrustBundle", "name") ?? at(volume, "clusterTrustBundle", "signerName")],
  ];
  return [...own.flatMap(([kind, name]) => (name ? [{ kind, name }] : [])), ...projected];
}

/** fullName returns an image's name in the runtime's form. */
export function fullName(image: string): string {
  const [name, digest] = image.split("@");
  const parts = name!.split("/");
  const registry = parts.length > 1 && /[.:]|^localhost$/.test(parts[0]!);
  const path = registry ? name! : parts.length === 1 ? `docker.io/library/${name}` : `docker.io/${name}`;
  if (digest) return `${path}@${digest}`;
  return /:[^/]*$/.test(path) ? path : `${path}:latest`;
}

/** imageUsers maps the IDs of images to their pods. */
export function imageUsers(images: readonly Image[], pods: Iterable<Pod>): Map<string, Pod[]> {
  const ids = new Map<string, string>();
  for (const image of images) for (const name of [image.id, ...(image.references ?? []), ...(image.digests ?? [])]) if (name) ids.set(name, image.id!);
  const users = new Map<string, Pod[]>();
  for (const pod of pods) {
    const named = containersOf(objectOf(pod)).flatMap(({ spec, status }) => [status?.imageID, status?.image, spec.image]);
    const names = named.flatMap((name) => (name ? [name, fullName(name)] : []));
    for (const id of new Set(names.flatMap((name) => ids.get(name) ?? []))) users.set(id, [...(users.get(id) ?? []), pod]);
  }
  return users;
}
