// Starts a container with a shell beside those of a pod, and opens a terminal in it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ListImagesResponse, Pod } from "../api/gen";
import { perform, request } from "../api/request";
import { listImages } from "../pure/calls";
import { containersOf } from "../pure/containers";
import { debugCommand, debugPatch, freshName, shellOf } from "../pure/debug";
import { keyOf, objectOf } from "../pure/health";
import { pods } from "../state/live";
import { openTerminal, type Session } from "../state/terminals";
import { Ask } from "./ask";
import { CopyButton } from "./commands";

interface Props {
  pod: Pod;
  /** The container whose processes the shell sees. */
  target: string;
  onOpen: (session: Session) => void;
  onClose: () => void;
}

export function Debug({ pod, target, onOpen, onClose }: Props) {
  const image = useSignal("");
  const images = useSignal<readonly string[]>([]);
  const added = useSignal("");
  useEffect(() => {
    const take = (names: string[]) => {
      images.value = names;
      image.value ||= shellOf(names);
    };
    void perform<ListImagesResponse>(listImages("")).then((answer) => take((answer.images ?? []).filter((i) => !i.pinned).flatMap((i) => i.references ?? [])), () => take([]));
  }, []);
  const present = pods.value.get(keyOf(pod));
  const there = present && present.uid === pod.uid ? containersOf(objectOf(present)).find((c) => c.name === added.value) : undefined;
  const runs = there?.status?.state?.running !== undefined;
  useEffect(() => {
    if (!runs) return;
    onOpen(openTerminal({ namespace: pod.namespace!, name: pod.name!, uid: pod.uid!, container: added.value, command: [], stdin: true, tty: true, wakes: true }));
    onClose();
  }, [runs]);
  const wanted = { name: freshName(pod), image: image.value, target };
  const act = async () => {
    const { path, body } = debugPatch(pod, wanted);
    await request("PATCH", path, body, "application/strategic-merge-patch+json");
    added.value = wanted.name;
  };
  return (
    <Ask title={`Debug ${pod.name}`} call={null} button="Start and open" disabled={!image.value.trim() || added.value !== ""} act={act} onClose={onClose}>
      <p>
        A container with a shell starts beside <b>{target}</b> and sees its processes. It stays in the pod until the pod ends; no other container restarts.
      </p>
      <label class="field">
        Image with a shell
        <input class="mono grow" list="images-here" spellcheck={false} value={image.value} onInput={(e) => (image.value = e.currentTarget.value)} />
      </label>
      <datalist id="images-here">
        {images.value.map((name) => (
          <option value={name} />
        ))}
      </datalist>
      <div class="commands">
        <div class="set-up">
          <pre tabIndex={0}>{debugCommand(pod, wanted)}</pre>
          <CopyButton text={debugCommand(pod, wanted)} label="" />
        </div>
      </div>
      {added.value && <p role="status">{wordsFor(there?.status?.state)}</p>}
    </Ask>
  );
}

type State = NonNullable<ReturnType<typeof containersOf>[number]["status"]>["state"];

/** wordsFor says why the container does not run yet. */
function wordsFor(state: State): string {
  const { waiting, terminated } = state ?? {};
  if (terminated) return `The container has ended with exit code ${terminated.exitCode}. ${terminated.message ?? ""}`;
  return waiting?.message ? `${waiting.reason}: ${waiting.message}` : "The container starts…";
}
