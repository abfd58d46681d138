// A watch that does not end: it resumes after the last revision that it was
// told of, and begins anew where the node no longer remembers that one.
import { EventParser } from "../pure/sse";
import type { Status } from "./gen";
import { ApiError, fetchOk } from "./request";

export interface WatchHandlers<T> {
  /** begin: what comes next is the whole state, not a continuation. */
  begin(): void;
  message(message: T): void;
  /** synced: the present state has been told. */
  synced(): void;
  up(): void;
  down(error: unknown): void;
}

interface Message {
  type?: string;
  revision?: string;
  error?: Status;
}

const silence = 40_000; // the node says something every 15 s
const pauses = [200, 500, 1000, 2000, 4000];

export function watch<T extends Message>(path: string, on: WatchHandlers<T>): () => void {
  const stop = new AbortController();
  void run(path, on, stop.signal);
  return () => stop.abort();
}

async function run<T extends Message>(path: string, on: WatchHandlers<T>, stop: AbortSignal): Promise<void> {
  let since = "";
  for (let failures = 0; !stop.aborted; ) {
    try {
      for await (const message of messages<T>(path, since, stop, on)) {
        failures = 0;
        if (message.type === "WATCH_TYPE_SYNCED") on.synced();
        else on.message(message);
        since = message.revision ?? since;
      }
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof ApiError && error.http === 410) {
        since = "";
        continue;
      }
      on.down(error);
      if (error instanceof ApiError && (error.http === 401 || error.http === 403)) return;
    }
    await pause(pauses[Math.min(failures++, pauses.length - 1)]!, stop);
  }
}

async function* messages<T extends Message>(path: string, since: string, stop: AbortSignal, on: WatchHandlers<T>) {
  const quiet = new AbortController();
  let timer = setTimeout(() => quiet.abort(), silence);
  const end = () => quiet.abort();
  stop.addEventListener("abort", end);
  try {
    const url = since ? `${path}${path.includes("?") ? "&" : "?"}sinceRevision=${since}` : path;
    const response = await fetchOk(url, { headers: { Accept: "text/event-stream" }, signal: quiet.signal });
    on.up();
    if (!since) on.begin();
    const parser = new EventParser();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new ApiError(0, "The node has ended the connection.");
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), silence);
      for (const sent of parser.push(value)) {
        const message = JSON.parse(sent.data) as T;
        if (sent.event === "error") throw new ApiError(0, (message as Status).message ?? "the watch failed");
        yield message;
      }
    }
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", end);
    quiet.abort();
  }
}

/** pause ends early when the browser is back online or the page is looked at. */
function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", done);
      stop.removeEventListener("abort", done);
      resolve();
    }
    addEventListener("online", done);
    document.addEventListener("visibilitychange", done);
    stop.addEventListener("abort", done);
  });
}
