// The images on the node, and tarballs on their way to it.
import { computed, signal } from "@preact/signals";
import type { Image, ImportedImage, ImportImagesResponse, ListImagesResponse, Status } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { importImages, listImages } from "../pure/calls";
import { reachable } from "./link";
import { events } from "./live";
import { onLeaving } from "./session";

export const images = signal<readonly Image[] | null>(null);
export const imagesProblem = signal("");

let asked = 0;
let answered = 0;

/** readImages reads the list. It ignores an answer that comes after one to a later request. */
export async function readImages(): Promise<void> {
  const mine = ++asked;
  const answer = await perform<ListImagesResponse>(listImages("")).catch(messageOf);
  if (mine < answered) return;
  answered = mine;
  imagesProblem.value = typeof answer === "string" ? answer : "";
  if (typeof answer !== "string") images.value = answer.images ?? [];
}

const pulled = computed(() => events.value.find((e) => e.reason === "Pulled")?.revision);

/**
 * keepImages is an effect. Imports and removals by others make no event, so the list is read again
 * when the page becomes visible.
 */
export function keepImages(): () => void {
  pulled.value; // read as dependencies
  reachable.value;
  void readImages();
  const look = () => void (document.hidden || readImages());
  document.addEventListener("visibilitychange", look);
  window.addEventListener("focus", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("focus", look);
  };
}

export interface Import {
  id: number;
  file: string;
  size: number;
  sent: number; // bytes
  taking: string; // the image that the runtime is importing
  done: readonly ImportedImage[] | null;
  problem: string;
  stop: () => void;
}

/** imports outlive the page: a large tarball goes on while the user visits other pages. */
export const imports = signal<readonly Import[]>([]);
let count = 0;

onLeaving(() => {
  for (const { stop } of imports.value) stop();
  imports.value = [];
  answered = ++asked; // after a sign-out the answer is dropped
  images.value = null;
  imagesProblem.value = "";
});

function change(id: number, to: Partial<Import>): void {
  imports.value = imports.value.map((i) => (i.id === id ? { ...i, ...to } : i));
}

export const forget = (id: number) => (imports.value = imports.value.filter((i) => i.id !== id));

/** importFile sends a tarball as a stream. Only XMLHttpRequest reports the progress. */
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
    void readImages();
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

/** Lines returns each whole line of a growing text. */
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
