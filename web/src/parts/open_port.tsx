// A button that shows a server in a pod in a window of its own.
import { useSignal } from "@preact/signals";
import type { Pod } from "../api/gen";
import { messageOf, request } from "../api/request";

interface Props {
  pod: Pod;
  port: number;
  scheme: "http" | "https";
}

/** OpenButton asks the node for a path that leads to the port, as the page of a pod may not have the dashboard's session. */
export function OpenButton({ pod, port, scheme }: Props) {
  const problem = useSignal("");
  const open = async () => {
    try {
      const body = JSON.stringify({ namespace: pod.namespace, name: pod.name, port, scheme });
      const { path } = await request<{ path: string }>("POST", "/ui/open", body);
      problem.value = "";
      window.open(path, "_blank", "noopener");
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  return (
    <>
      <button type="button" class="link-button" aria-label={`Open port ${port} in a new window`} title="Through the node, in a new window" onClick={() => void open()}>
        Open
      </button>
      {problem.value && (
        <span class="field-problem" role="alert">
          {problem.value}
        </span>
      )}
    </>
  );
}
