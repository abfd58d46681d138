// The volumes of a pod, their content and the containers that mount them.
import type { Pod } from "../api/gen";
import type { Volume } from "../api/kube";
import { containersOf } from "../pure/containers";
import { objectOf } from "../pure/health";
import { volumeUses } from "../pure/uses";
import { hrefOf } from "../state/route";
import { session } from "../state/session";

export function Volumes({ pod, volumes }: { pod: Pod; volumes: Volume[] }) {
  return (
    <ul class="conditions volumes">
      {volumes.map((v) => {
        const [kind, source] = Object.entries(v).find(([key]) => key !== "name") ?? ["", {}];
        const s = (source ?? {}) as Record<string, unknown>;
        const uses = volumeUses(v);
        const place = String(s["path"] ?? s["medium"] ?? s["reference"] ?? "");
        return (
          <li>
            <span>
              {v.name} <span class="muted">{kind}</span>{" "}
              {uses.map((use, i) => (
                <>
                  {i > 0 && ", "}
                  {session.value?.live && !use.name.includes("/") /* a signer has no page */ ? <a href={hrefOf("objects", use.kind, pod.namespace!, use.name)}>{use.name}</a> : <code>{use.name}</code>}
                </>
              ))}
              {uses.length === 0 && place && <code class="breakable">{place}</code>}
              {typeof s["sizeLimit"] === "string" && <span class="muted"> at most {s["sizeLimit"]}</span>}
            </span>
            <span class="volume-users muted">{mountersOf(pod, v.name)}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** mountersOf returns where a volume is mounted, or "" if every container mounts it. */
function mountersOf(pod: Pod, volume: string): string {
  const names = containersOf(objectOf(pod)).filter((c) => c.spec.volumeMounts?.some((m) => m.name === volume)).map((c) => c.name);
  return names.length ? `in ${names.join(", ")}` : "not mounted";
}
