// Reads logs into a bounded ring: several containers at once, sorted by time, for as long as they
// are followed.
import { signal } from "@preact/signals";
import { ApiError, fetchOk, messageOf } from "../api/request";
import { type Call, type LogPart, type Named, readLogs } from "../pure/calls";
import { Merger, order } from "../pure/merge";
import { LineParser, Ring, split } from "../pure/ring";

export interface LogWanted {
  namespace: string;
  name: string;
  containers: string[];
  /** The container behind a name of containers, where there are several pods; without it, all are of one pod. */
  sourceOf?: (name: string) => Named & { container: string };
  previous: boolean;
  hasEnded: (container: string) => boolean; // no more output will come
  tail: number; // lines of each container; 0: all
  sinceSeconds: number; // 0: from the beginning
  at: string; // the time of a line to keep; empty: none
}

const before = 5000; // milliseconds to show before a linked line
const silence = 1000; // milliseconds of silence after which a log has sent its earlier lines
const ahead = 10_000; // lines that one log may be ahead of the others
const full = 0.75; // of the ring

export class LogReader {
  readonly ring = new Ring();
  /** told counts the lines to draw; it changes at most once a frame. */
  readonly told = signal({ lines: 0, dropped: 0 });
  readonly problems = signal<ReadonlyMap<string, string>>(new Map());
  readonly ended = signal(false);
  /** looking: earlier lines are still coming. */
  readonly looking = signal(true);
  /** held: there is more, but it would push out lines that the user asked to see. */
  readonly held = signal(false);
  private readonly stopping = new AbortController();
  private readonly merger: Merger;
  private readonly unheard: Set<number>; // sources whose earlier lines are still coming
  private asked = false;
  private open: number;

  constructor(readonly wanted: LogWanted) {
    this.merger = new Merger(wanted.containers.length);
    this.open = wanted.containers.length;
    this.unheard = new Set(wanted.containers.keys());
    wanted.containers.forEach((container, i) => void this.follow(container, i));
  }

  stop(): void {
    this.stopping.abort();
  }

  /** call reads a log, from the time of a line on if that is given. */
  call(container: string, since = ""): Call {
    const w = this.wanted;
    const part: LogPart = { timestamps: true, previous: w.previous, follow: !w.previous && !w.hasEnded(container) };
    if (since) part.sinceTime = since;
    else if (w.at) part.sinceTime = new Date(Date.parse(w.at) - before).toISOString();
    else if (w.tail) part.tailLines = w.tail;
    else part.sinceSeconds = w.sinceSeconds;
    const from = w.sourceOf?.(container) ?? { ...w, container };
    return readLogs(from, from.container, part);
  }

  /** follow survives restarts of the container and of the node. */
  private async follow(container: string, source: number): Promise<void> {
    let failures = 0;
    for (let wait = 500; !this.stopping.signal.aborted; wait = Math.min(wait * 2, 5000)) {
      const last = this.merger.last(source);
      try {
        await this.read(container, source);
        this.current(source);
        this.problem(container, "");
        if (this.wanted.previous || this.wanted.hasEnded(container)) break;
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        // A cut connection is mostly back at once, without any loss.
        if (failures++ > 0 || (error instanceof ApiError && error.http > 0)) {
          this.current(source); // the other logs do not wait for it
          this.problem(container, messageOf(error));
        }
        if (error instanceof ApiError && [401, 403, 404].includes(error.http)) break;
      }
      if (this.merger.last(source) !== last) {
        wait = 500;
        failures = 0;
      }
      await new Promise((done) => setTimeout(done, wait));
    }
    if (--this.open === 0) this.ended.value = true;
  }

  private async read(container: string, source: number): Promise<void> {
    const since = this.merger.last(source);
    const response = await fetchOk(this.call(container, since).path, { signal: this.stopping.signal });
    this.problem(container, "");
    this.merger.setCurrent(source, false);
    const begun = Date.parse(response.headers.get("Date") ?? "");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new LineParser();
    for (;;) {
      const { done, value } = await this.orSilent(source, reader.read());
      for (const raw of done ? parser.end() : parser.push(value)) this.add(source, raw, since);
      // The node stamps lines and answers with the same clock.
      if (Date.parse(this.merger.last(source)) >= begun) this.current(source);
      this.ask();
      if (done) return;
      if (this.isFull(source, since)) {
        this.held.value = true;
        this.looking.value = false;
        this.stop();
      }
      this.stopping.signal.throwIfAborted();
      await this.room(source);
    }
  }

  private add(source: number, raw: string, since: string): void {
    const { time, text } = split(raw);
    // A log since a time begins with the line of that time.
    if (since && time && order(time, since) <= 0) return;
    this.merger.add({ time, source, text });
  }

  /** orSilent treats a log that is silent for a while as up to date. */
  private async orSilent<T>(source: number, next: Promise<T>): Promise<T> {
    if (this.merger.isCurrent(source)) return next;
    const timer = setTimeout(() => this.current(source), silence);
    return next.finally(() => clearTimeout(timer));
  }

  private current(source: number): void {
    this.merger.setCurrent(source, true);
    this.unheard.delete(source);
    if (this.unheard.size === 0) this.looking.value = false;
    this.ask();
  }

  /**
   * isFull reports whether more lines would push out a linked line, or the beginning that the user
   * asked for. A log may be far larger than a page can hold. A log that is read since a time is
   * followed: its beginning may go.
   */
  private isFull(source: number, since: string): boolean {
    const { at, tail } = this.wanted;
    if (tail || (!at && (since || this.merger.isCurrent(source)))) return false;
    this.flush();
    return this.ring.fill > full;
  }

  /** room waits while a log is too far ahead of the page or of the other logs. The node waits as well. */
  private async room(source: number): Promise<void> {
    while (this.merger.waits(source) > ahead && !this.stopping.signal.aborted) {
      this.flush();
      if (this.merger.waits(source) > ahead) await new Promise((done) => setTimeout(done, 80));
    }
  }

  /** ask draws the new lines in the next frame, and sorts containers that write at the same time. */
  private ask(): void {
    if (this.asked) return;
    this.asked = true;
    const soon = this.wanted.containers.length > 1 ? (run: () => void) => setTimeout(run, 80) : requestAnimationFrame;
    soon(() => {
      this.asked = false;
      this.flush();
      this.told.value = { lines: this.ring.length, dropped: this.ring.dropped };
    });
  }

  private flush(): void {
    for (const line of this.merger.take()) this.ring.push(line.time, line.source, line.text);
  }

  private problem(container: string, text: string): void {
    if ((this.problems.value.get(container) ?? "") === text) return;
    const next = new Map(this.problems.value);
    if (text) next.set(container, text);
    else next.delete(container);
    this.problems.value = next;
  }
}
