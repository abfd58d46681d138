// An endless watch. It resumes after the last revision that it received. It starts again if there
// is none, or if the node no longer has that revision.
import { EventParser } from "../pure/sse";
import type { Status } from "./gen";
import { ApiError, fetchOk } from "./request";

export interface WatchHandlers<T> {
  message(message: T): void;
  /** begin is called when the whole state follows, not a continuation. */
  begin?(): void;
  /** synced is called after the present state. */
  synced?(): void;
  up?(): void;
  /** down is called when the watch breaks. It is tried again, unless the node refuses the session or its rights. */
  down?(error: unknown): void;
}

/** Marks holds the position of a message in a watch, if it has one. */
interface Marks {
  type?: string;
  revision?: string;
}

const silence = 40_000; // the node sends something every 15 s
const pauses = [200, 500, 1000, 2000, 4000];

/** reached wakes the watches that wait for their next try when another one gets an answer. */
const reached = new EventTarget();

export function watch<T>(path: string, on: WatchHandlers<T>): () => void {
  const stop = new AbortController();
  void run(path, on, stop.signal);
  return () => stop.abort();
}

async function run<T>(path: string, on: WatchHandlers<T>, stop: AbortSignal): Promise<void> {
  let since = "";
  for (let failures = 0; !stop.aborted; ) {
    try {
      for await (const message of messages<T>(path, since, stop, on)) {
        if (failures > 0) reached.dispatchEvent(new Event("reached"));
        failures = 0;
        if (message.type === "WATCH_TYPE_SYNCED") on.synced?.();
        else on.message(message);
        since = message.revision ?? since;
      }
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof ApiError && error.http === 410) {
        since = "";
        continue;
      }
      on.down?.(error);
      if (error instanceof ApiError && [401, 403].includes(error.http)) return;
    }
    await pause(pauses[Math.min(failures++, pauses.length - 1)]!, stop);
  }
}

async function* messages<T>(path: string, since: string, stop: AbortSignal, on: WatchHandlers<T>) {
  const quiet = new AbortController();
  let timer = setTimeout(() => quiet.abort(), silence);
  const end = () => quiet.abort();
  stop.addEventListener("abort", end);
  try {
    const url = since ? `${path}${path.includes("?") ? "&" : "?"}sinceRevision=${since}` : path;
    const response = await fetchOk(url, { headers: { Accept: "text/event-stream" }, signal: quiet.signal });
    on.up?.();
    if (!since) on.begin?.();
    const parser = new EventParser();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new ApiError(0, "The node closed the connection.");
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), silence);
      for (const sent of parser.push(value)) {
        const message = JSON.parse(sent.data) as unknown;
        if (sent.event === "error") throw new ApiError(0, (message as Status).message ?? "The watch has failed.");
        yield message as T & Marks;
      }
    }
  } catch (error) {
    throw quiet.signal.aborted && !stop.aborted ? new ApiError(0, `The node has sent nothing for ${silence / 1000} seconds.`) : error;
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", end);
    quiet.abort();
  }
}

/**
 * pause waits. It ends early when the browser is online again, the page becomes visible, or the
 * node answers another watch.
 */
function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const end = () => {
      clearTimeout(timer);
      over.abort();
      resolve();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener("online", end, { signal: over.signal });
    document.addEventListener("visibilitychange", end, { signal: over.signal });
    reached.addEventListener("reached", end, { signal: over.signal });
    stop.addEventListener("abort", end, { signal: over.signal });
  });
}
