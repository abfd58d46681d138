// Images on their way to the node: imported tarballs and pulls.
import type { Pull } from "../api/gen";
import { pullWords } from "../pure/progress";
import { bytes, since } from "../pure/time";
import { now } from "../state/clock";
import { forget, type Import, imports } from "../state/images";
import { usePulls } from "../state/pulls";
import { HealthIcon, Icon } from "./icons";
import { PodLinks } from "./pod_link";
import { Meter } from "./spark";

export function Imports() {
  if (imports.value.length === 0) return null;
  return (
    <ul class="imports" aria-label="Tarballs">
      {imports.value.map((i) => (
        <ImportRow key={i.id} of={i} />
      ))}
    </ul>
  );
}

function ImportRow({ of: i }: { of: Import }) {
  const over = i.done !== null || i.problem !== "";
  return (
    <li class="import">
      <HealthIcon health={i.problem ? "failed" : i.done ? "ready" : "starting"} />
      <b class="breakable">{i.file}</b>
      <span class="import-state" aria-live={over || i.sent >= i.size ? "polite" : "off"}>
        {i.problem ||
          (i.done
            ? `imported ${i.done.map((image) => image.reference).join(", ") || "nothing"}`
            : i.sent < i.size
              ? `${bytes(i.sent)} of ${bytes(i.size)} sent`
              : i.taking
                ? `the runtime is importing ${i.taking}`
                : "the node is reading it")}
      </span>
      <button type="button" class="quiet only-icon" aria-label={over ? `Forget ${i.file}` : `Stop ${i.file}`} onClick={() => (over ? forget(i.id) : i.stop())}>
        <Icon name="close" />
      </button>
      {!over && <Meter aim part={i.sent} whole={i.size} label={`Sent of ${i.file}`} />}
    </li>
  );
}

/** Pulls lists the pulls in progress with the pods that wait for them. */
export function Pulls() {
  const pulls = usePulls();
  if (pulls.length === 0) return null;
  return (
    <ul class="imports" aria-label="Pulls">
      {pulls.map((pull) => (
        <PullRow key={pull.reference} pull={pull} />
      ))}
    </ul>
  );
}

function PullRow({ pull }: { pull: Pull }) {
  const present = Number(pull.bytes?.present ?? 0);
  const total = Number(pull.bytes?.total ?? 0);
  return (
    <li class="import">
      <HealthIcon health="starting" />
      <b class="mono breakable">{pull.reference}</b>
      <span class="import-state">
        {pullWords(pull)} {since(pull.beganAt ?? pull.askedAt, now.value)} · wanted by <PodLinks pods={pull.waiters ?? []} most={3} none="no pod any more" />
      </span>
      {total > 0 && <Meter aim part={present} whole={total} label={`Pulled of ${pull.reference}`} />}
    </li>
  );
}
