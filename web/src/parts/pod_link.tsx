// Links to pods by their names.
import { useSignal } from "@preact/signals";
import { nameOf, type PodName } from "../pure/health";
import { hrefOf } from "../state/route";

export const PodLink = ({ pod }: { pod: PodName }) => <a href={hrefOf("pods", pod.namespace!, pod.name!)}>{nameOf(pod)}</a>;

/** PodLinks shows the first few of many, and all on request. */
export function PodLinks({ pods, most, none }: { pods: readonly PodName[]; most: number; none: string }) {
  const whole = useSignal(false);
  if (pods.length === 0) return <span class="muted">{none}</span>;
  return (
    <>
      {pods.slice(0, whole.value ? pods.length : most).map((pod, i) => (
        <>
          {i > 0 && ", "}
          <PodLink pod={pod} />
        </>
      ))}
      {pods.length > most && !whole.value && (
        <>
          {" and "}
          <button type="button" class="link-button" onClick={() => (whole.value = true)}>
            {pods.length - most} more
          </button>
        </>
      )}
    </>
  );
}
