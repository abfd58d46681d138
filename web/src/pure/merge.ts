// The lines of several logs in the order of their times, whichever comes first.

export interface Stamped {
  time: string; // RFC 3339; empty: it belongs to the line before it
  source: number;
  text: string;
}

interface Source {
  waiting: Stamped[];
  last: string; // the time of its newest line
  current: boolean; // it has told what there was; what comes now is new
}

/**
 * Merger holds back what is newer than the last line of a log that is still on its
 * way, since that may have something older to tell yet.
 */
export class Merger {
  private readonly sources: Source[];

  constructor(count: number) {
    this.sources = Array.from({ length: count }, () => ({ waiting: [], last: "", current: false }));
  }

  add(line: Stamped): void {
    const source = this.sources[line.source]!;
    source.waiting.push(line);
    if (line.time) source.last = line.time;
  }

  /** last is the time of the newest line of a log. */
  last(source: number): string {
    return this.sources[source]!.last;
  }

  isCurrent(source: number): boolean {
    return this.sources[source]!.current;
  }

  setCurrent(source: number, is: boolean): void {
    this.sources[source]!.current = is;
  }

  /** waits is how many lines of a log are held back. */
  waits(source: number): number {
    return this.sources[source]!.waiting.length;
  }

  /** take is the lines whose turn has come. */
  take(): Stamped[] {
    const behind = this.sources.filter((s) => !s.current).map((s) => s.last);
    const edge = behind.length ? behind.reduce((a, b) => (order(a, b) < 0 ? a : b)) : null;
    const batches = this.sources.map(({ waiting }) => waiting.splice(0, edge === null ? waiting.length : upTo(waiting, edge)));
    return batches.length === 1 ? batches[0]! : merge(batches);
  }
}

/** upTo is how many lines in front are not newer than a time. */
function upTo(lines: readonly Stamped[], time: string): number {
  const first = lines.findIndex((line) => line.time && order(line.time, time) > 0);
  return first < 0 ? lines.length : first;
}

/** merge puts the lines of several logs in the order of their times; without a time a line stays behind the one before it. */
export function merge(batches: Stamped[][]): Stamped[] {
  const all = batches.flatMap((batch) => {
    let last = "";
    return batch.map((line) => ({ line, key: (last = line.time || last) }));
  });
  all.sort((a, b) => order(a.key, b.key));
  return all.map((entry) => entry.line);
}

/** order compares times. Nanoseconds are cut off at trailing zeros, so text alone does not sort. */
export function order(a: string, b: string): number {
  const x = a.replace(/Z$/, "");
  const y = b.replace(/Z$/, "");
  return x < y ? -1 : x > y ? 1 : 0;
}
