// Images: those on the node with their pods, pulls and imports, and removal.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { GetPrunePlanResponse, Image, Pod, PrunedImage, PruneImagesResponse } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { Ask } from "../parts/ask";
import { ApiButton } from "../parts/commands";
import { Export } from "../parts/export";
import { Icon } from "../parts/icons";
import { PodLinks } from "../parts/pod_link";
import { Imports, Pulls } from "../parts/transfers";
import { Waiting } from "../parts/waiting";
import { importImages, listImages, planPrune, pruneImages, removeImage } from "../pure/calls";
import type { Row } from "../pure/export";
import { keyOf } from "../pure/health";
import { bytes } from "../pure/time";
import { imageUsers } from "../pure/uses";
import { images, imagesProblem, importFile, keepImages, readImages } from "../state/images";
import { node, podList } from "../state/live";
import { canWrite } from "../state/session";

export function ImagesPage() {
  useSignalEffect(keepImages);
  const asked = useSignal<"" | "prune" | Image>("");
  const over = useSignal(false);
  const list = images.value ?? [];
  const users = useComputed(() => imageUsers(images.value ?? [], podList.value));
  const close = () => (asked.value = "");
  return (
    <div class={over.value ? "page dropping" : "page"} {...useFiles(over)}>
      <div class="page-head">
        <h1>Images</h1>
        {images.value && <p class="sub">{list.length ? `${list.length}, ${bytes(list.reduce((sum, i) => sum + Number(i.size ?? 0), 0))} in all` : ""}</p>}
        <div class="page-tools">
          <ApiButton call={listImages(node.value?.name ?? "")} />
          <Export name="images" rows={() => list.map((image) => rowOf(image, users.value.get(image.id!) ?? []))} />
          {canWrite.value && (
            <>
              <button type="button" onClick={() => (asked.value = "prune")}>
                Prune…
              </button>
              <Pick />
            </>
          )}
        </div>
      </div>
      {imagesProblem.value && <p class="problem" role="alert">{imagesProblem.value}</p>}
      {canWrite.value && <DropHint />}
      <Imports />
      <Pulls />
      <table class="list images">
        <thead>
          <tr>
            <th scope="col">Image</th>
            <th scope="col" class="c-num">Size</th>
            <th scope="col">Used by</th>
            <th scope="col"><span class="hidden">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          {[...list].sort((a, b) => nameOf(a).localeCompare(nameOf(b))).map((image) => (
            <ImageRow key={image.id} image={image} users={users.value.get(image.id!) ?? []} onRemove={() => (asked.value = image)} />
          ))}
        </tbody>
      </table>
      {images.value === null ? <Waiting /> : list.length === 0 && <p class="nothing">This node has no images yet. Pods pull their images; you can also import tarballs.</p>}
      {asked.value === "prune" && <Prune onClose={close} />}
      {typeof asked.value === "object" && <Remove image={asked.value} onClose={close} />}
    </div>
  );
}

const nameOf = (image: Image) => image.references?.[0] ?? image.digests?.[0] ?? image.id ?? "";

const rowOf = (image: Image, users: readonly Pod[]): Row => ({ image: nameOf(image), id: image.id, bytes: Number(image.size ?? 0), pinned: image.pinned ?? false, usedBy: users.map(keyOf).join(" ") });

function ImageRow({ image, users, onRemove }: { image: Image; users: readonly Pod[]; onRemove: () => void }) {
  const [first, ...others] = image.references?.length ? image.references : [nameOf(image)];
  return (
    <tr>
      <th scope="row">
        <span class="mono breakable">{first}</span> {image.pinned && <span class="tag" title="The runtime never removes it">pinned</span>}
        {others.map((name) => (
          <span class="also mono breakable">{name}</span>
        ))}
        <span class="also mono" title={image.id}>{image.id?.slice(0, 19)}</span>
      </th>
      <td class="c-num">{bytes(Number(image.size ?? 0))}</td>
      <td>
        <PodLinks pods={users} most={3} none={image.pinned ? "the runtime" : "nothing"} />
      </td>
      <td class="c-do">
        {canWrite.value && !image.pinned && users.length === 0 && (
          <button type="button" class="quiet" aria-label={`Remove ${first}…`} onClick={onRemove}>
            Remove…
          </button>
        )}
      </td>
    </tr>
  );
}

function DropHint() {
  return (
    <p class="drop-hint">
      <Icon name="down" />
      <span>
        Drop a tarball anywhere on this page to import it: what <code>docker save</code> writes, or an OCI layout, plain or compressed.
      </span>
      <span class="grow" />
      <ApiButton call={importImages()} />
    </p>
  );
}

function Pick() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="primary" onClick={() => input.current?.click()}>
        Import…
      </button>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label="Tarballs to import"
        onChange={(e) => {
          [...(e.currentTarget.files ?? [])].forEach(importFile);
          e.currentTarget.value = "";
        }}
      />
    </>
  );
}

/** useFiles accepts dropped files, if the user may import. */
function useFiles(over: { value: boolean }) {
  return {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      over.value = canWrite.value && [...(event.dataTransfer?.types ?? [])].includes("Files");
    },
    onDragLeave: (event: DragEvent) => event.target === event.currentTarget && (over.value = false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      over.value = false;
      if (canWrite.value) [...(event.dataTransfer?.files ?? [])].forEach(importFile);
    },
  };
}

function Prune({ onClose }: { onClose: () => void }) {
  const plan = useSignal<readonly PrunedImage[] | null>(null);
  const gone = useSignal<readonly PrunedImage[] | null>(null);
  const problem = useSignal("");
  useEffect(() => {
    perform<GetPrunePlanResponse>(planPrune()).then((answer) => (plan.value = answer.images ?? []), (error) => (problem.value = messageOf(error)));
  }, []);
  const call = pruneImages();
  const act = async () => {
    if (gone.value) return onClose();
    gone.value = (await perform<PruneImagesResponse>(call)).images ?? [];
    await readImages();
  };
  const shown = gone.value ?? plan.value;
  const title = gone.value ? `Removed ${manyOf(gone.value)}` : "Prune images";
  const button = gone.value ? "Done" : plan.value?.length ? `Remove ${manyOf(plan.value)}` : "Remove";
  return (
    <Ask title={title} call={gone.value ? null : call} button={button} danger={!gone.value} disabled={!gone.value && !plan.value?.length} act={act} onClose={onClose}>
      {!gone.value && <p>Removes images that no pod uses, except pinned ones. An imported image is restored when a pod needs it; others are pulled again.</p>}
      {problem.value && <p class="problem" role="alert">{problem.value}</p>}
      {shown?.length === 0 && <p class="nothing">Nothing to remove: every image is in use.</p>}
      {(shown?.length ?? 0) > 0 && (
        <ul class="prune">
          {shown!.map(({ image, reason }) => (
            <li>
              <span class="mono breakable">{nameOf(image ?? {})}</span>
              <span>{bytes(Number(image?.size ?? 0))}</span>
              <span class="muted">{reason}</span>
            </li>
          ))}
        </ul>
      )}
    </Ask>
  );
}

const manyOf = (list: readonly PrunedImage[]) => `${list.length} ${list.length === 1 ? "image" : "images"}, ${bytes(sizeOf(list))}`;

const sizeOf = (list: readonly PrunedImage[]) => list.reduce((sum, p) => sum + Number(p.image?.size ?? 0), 0);

function Remove({ image, onClose }: { image: Image; onClose: () => void }) {
  const name = nameOf(image);
  const call = removeImage(name);
  const act = async () => {
    await perform(call);
    await readImages();
    onClose();
  };
  return (
    <Ask title="Remove an image" call={call} button="Remove the image" danger act={act} onClose={onClose}>
      <p>
        <code class="breakable">{name}</code> is removed with all of its names, and from the imported images. {bytes(Number(image.size ?? 0))} are freed, except layers that other images share.
      </p>
    </Ask>
  );
}
