// Reads logs into a bounded ring: several containers at once, in the order of
// their times, again and again for as long as it is followed.
import { signal } from "@preact/signals";
import { ApiError, fetchOk, messageOf } from "../api/request";
import { logPath } from "../pure/calls";
import { bounds, LineParser, merge, order, Ring, split } from "../pure/ring";

export interface LogWanted {
  namespace: string;
  name: string;
  containers: string[];
  previous: boolean;
  over: boolean; // the pod has run: nothing will come
  tail: number; // lines of each container; 0: all
  sinceSeconds: number; // 0: from the beginning
  at: string; // the time of a line that must not go; empty: none
}

const before = 5000; // milliseconds that are shown before a line

interface Waiting {
  lines: Array<{ time: string; source: number; text: string }>;
}

export class LogReader {
  readonly ring = new Ring();
  /** version moves when there is something new to draw, at most once a frame. */
  readonly version = signal(0);
  readonly problems = signal<ReadonlyMap<string, string>>(new Map());
  readonly ended = signal(false);
  /** held: there is more, but it would push out the line that somebody was sent to. */
  readonly held = signal(false);
  private readonly stopping = new AbortController();
  private readonly waiting: Waiting[];
  private readonly lasts: string[]; // the time of the last line of each, from where a cut connection goes on
  private asked = false;
  private open: number;

  constructor(readonly wanted: LogWanted) {
    this.waiting = wanted.containers.map(() => ({ lines: [] }));
    this.lasts = wanted.containers.map(() => "");
    this.open = wanted.containers.length;
    wanted.containers.forEach((container, i) => void this.follow(container, i));
  }

  stop(): void {
    this.stopping.abort();
  }

  private path(container: string, since: string): string {
    const w = this.wanted;
    const query = new URLSearchParams({ timestamps: "true" });
    if (w.previous) query.set("previous", "true");
    else if (!w.over) query.set("follow", "true");
    if (since) query.set("sinceTime", since);
    else if (w.at) query.set("sinceTime", new Date(Date.parse(w.at) - before).toISOString());
    else {
      if (w.tail) query.set("tailLines", String(w.tail));
      if (w.sinceSeconds) query.set("sinceSeconds", String(w.sinceSeconds));
    }
    return logPath(w, container, query);
  }

  /** follow goes on after a restart of the container, and after one of the node. */
  private async follow(container: string, source: number): Promise<void> {
    let failures = 0;
    for (let wait = 500; !this.stopping.signal.aborted; wait = Math.min(wait * 2, 5000)) {
      const before = this.lasts[source];
      try {
        await this.read(container, source);
        this.problem(container, "");
        if (this.wanted.previous || this.wanted.over) break;
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        // A connection that was cut is mostly back at once, with nothing missed.
        if (failures++ > 0 || (error instanceof ApiError && error.http > 0)) this.problem(container, messageOf(error));
        if (error instanceof ApiError && [401, 403, 404].includes(error.http)) break;
      }
      if (this.lasts[source] !== before) {
        wait = 500;
        failures = 0;
      }
      await new Promise((done) => setTimeout(done, wait));
    }
    if (--this.open === 0) this.ended.value = true;
  }

  private async read(container: string, source: number): Promise<void> {
    const since = this.lasts[source]!;
    const response = await fetchOk(this.path(container, since), { signal: this.stopping.signal });
    this.problem(container, "");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new LineParser();
    for (;;) {
      const { done, value } = await reader.read();
      for (const raw of done ? parser.end() : parser.push(value)) {
        const { time, text } = split(raw);
        // What is asked for since a time begins with the line of that time.
        if (since && time && order(time, since) <= 0) continue;
        if (time) this.lasts[source] = time;
        this.waiting[source]!.lines.push({ time, source, text });
      }
      this.ask();
      if (done) return;
      if (this.wanted.at && this.ring.length > bounds.lines - 20_000) {
        this.held.value = true;
        this.stop();
      }
      // The reader may be faster than the page: what waits is bounded as well.
      if (this.waiting[source]!.lines.length > 10_000) this.flush();
    }
  }

  /** ask has what has come drawn with the next frame; containers that speak at once are told in order. */
  private ask(): void {
    if (this.asked) return;
    this.asked = true;
    const soon = this.wanted.containers.length > 1 ? (run: () => void) => setTimeout(run, 80) : requestAnimationFrame;
    soon(() => {
      this.asked = false;
      this.flush();
      this.version.value++;
    });
  }

  private flush(): void {
    const batches = this.waiting.map((w) => w.lines.splice(0));
    const lines = batches.length === 1 ? batches[0]! : merge(batches);
    for (const line of lines) this.ring.push(line.time, line.source, line.text);
  }

  private problem(container: string, text: string): void {
    if ((this.problems.value.get(container) ?? "") === text) return;
    const next = new Map(this.problems.value);
    if (text) next.set(container, text);
    else next.delete(container);
    this.problems.value = next;
  }
}
