// A container for debugging, with a shell, beside those of a pod whose images have none.
import type { Pod } from "../api/gen";
import { containersOf } from "./containers";
import type { Named } from "./calls";
import { objectOf } from "./health";
import { quote } from "./shell";

export interface Debugger {
  name: string;
  image: string;
  /** The container whose processes it sees. */
  target: string;
}

/** freshName returns a name that no container of the pod has. */
export function freshName(pod: Pod): string {
  const taken = new Set(containersOf(objectOf(pod)).map((c) => c.name));
  for (let n = 1; ; n++) if (!taken.has(`debugger-${n}`)) return `debugger-${n}`;
}

/** debugPatch adds a container to those that a running pod takes. The path is that of the Kubernetes API. */
export const debugPatch = ({ namespace, name }: Named, { name: own, image, target }: Debugger) => ({
  path: `/api/v1/namespaces/${namespace}/pods/${name}/ephemeralcontainers`,
  body: JSON.stringify({ spec: { ephemeralContainers: [{ name: own, image, command: ["sh"], targetContainerName: target, stdin: true, tty: true, imagePullPolicy: "IfNotPresent" }] } }),
});

export const debugCommand = ({ namespace, name }: Named, { image, target }: Debugger) => `kubectl debug -it ${name} -n ${namespace} --image=${quote(image)} --target=${target} -- sh`;

/** shellOf returns the image that most likely has a shell. */
export const shellOf = (images: readonly string[]) => images.find((name) => /busybox|alpine|debian|ubuntu|toolbox|netshoot/.test(name)) ?? images[0] ?? "busybox";
