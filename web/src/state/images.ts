// The images on the node, and tarballs on their way to it.
import { signal } from "@preact/signals";
import type { Image, ImportedImage, ImportImagesResponse, ListImagesResponse, Status } from "../api/gen";
import { perform } from "../api/request";
import { importImages, listImages } from "../pure/calls";
import { onLeaving } from "./session";

export const images = signal<readonly Image[] | null>(null);

export async function readImages(): Promise<void> {
  images.value = (await perform<ListImagesResponse>(listImages(""))).images ?? [];
}

export interface Import {
  id: number;
  file: string;
  size: number;
  sent: number; // bytes
  taking: string; // what the runtime takes now
  done: readonly ImportedImage[] | null;
  problem: string;
  stop: () => void;
}

/** imports outlive the page: a large tarball goes on while one looks at pods. */
export const imports = signal<readonly Import[]>([]);
let count = 0;

onLeaving(() => {
  for (const { stop } of imports.value) stop();
  imports.value = [];
  images.value = null;
});

function change(id: number, to: Partial<Import>): void {
  imports.value = imports.value.map((i) => (i.id === id ? { ...i, ...to } : i));
}

export const forget = (id: number) => (imports.value = imports.value.filter((i) => i.id !== id));

/** importFile sends a tarball as it lies on the disk. Only XMLHttpRequest tells how much of it has gone. */
export function importFile(file: File): void {
  const id = ++count;
  const request = new XMLHttpRequest();
  imports.value = [{ id, file: file.name, size: file.size, sent: 0, taking: "", done: null, problem: "", stop: () => request.abort() }, ...imports.value];
  const lines = new Lines((line) => told(id, JSON.parse(line) as ImportImagesResponse & { error?: Status }));
  const { method, path } = importImages();
  request.open(method, path);
  request.upload.onprogress = (e) => change(id, { sent: e.loaded });
  request.onprogress = () => request.status === 200 && lines.take(request.responseText);
  request.onabort = () => change(id, { problem: "Stopped." });
  request.onerror = () => change(id, { problem: "The node does not answer." });
  request.onload = () => {
    if (request.status !== 200) change(id, { problem: messageIn(request.responseText) || `HTTP ${request.status}` });
    else lines.take(request.responseText);
    void readImages().catch(() => {}); // the list stays as it was
  };
  request.send(file);
}

function told(id: number, message: ImportImagesResponse & { error?: Status }): void {
  if (message.error) change(id, { problem: message.error.message ?? "It failed." });
  else if (message.result) change(id, { done: message.result.images ?? [] });
  else change(id, { taking: message.progress?.reference ?? "" });
}

function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as Status).message ?? "";
  } catch {
    return text.trim();
  }
}

/** Lines hands on each whole line of a text that grows. */
class Lines {
  private at = 0;
  constructor(private readonly each: (line: string) => void) {}

  take(text: string): void {
    for (let end = text.indexOf("\n", this.at); end >= 0; end = text.indexOf("\n", this.at)) {
      const line = text.slice(this.at, end);
      this.at = end + 1;
      if (line) this.each(line);
    }
  }
}
