// Pods by their names, which lead to them.
import { nameOf, type PodName } from "../pure/health";
import { hrefOf } from "../state/route";

export const PodLink = ({ pod }: { pod: PodName }) => <a href={hrefOf("pods", pod.namespace!, pod.name!)}>{nameOf(pod)}</a>;

/** PodLinks is the first few of many. */
export function PodLinks({ pods, most, none }: { pods: readonly PodName[]; most: number; none: string }) {
  if (pods.length === 0) return <span class="muted">{none}</span>;
  return (
    <>
      {pods.slice(0, most).map((pod, i) => (
        <>
          {i > 0 && ", "}
          <PodLink pod={pod} />
        </>
      ))}
      {pods.length > most && <span class="muted"> and {pods.length - most} more</span>}
    </>
  );
}
