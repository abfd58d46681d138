// The lines of several logs, sorted by time, in whichever order they come.

export interface Stamped {
  time: string; // RFC 3339; empty: the line continues the one before it
  source: number;
  text: string;
}

interface Source {
  waiting: Stamped[];
  last: string; // the time of its newest line
  current: boolean; // all earlier lines have come; the next ones are new
}

/**
 * Merger holds back lines that are newer than the last line of a log that is still loading: that
 * log may have older ones yet.
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

  /** last returns the time of a log's newest line. */
  last(source: number): string {
    return this.sources[source]!.last;
  }

  isCurrent(source: number): boolean {
    return this.sources[source]!.current;
  }

  setCurrent(source: number, is: boolean): void {
    this.sources[source]!.current = is;
  }

  /** waits returns how many lines of a log are held back. */
  waits(source: number): number {
    return this.sources[source]!.waiting.length;
  }

  /** take returns the lines that are next in order. */
  take(): Stamped[] {
    const behind = this.sources.filter((s) => !s.current).map((s) => s.last);
    const edge = behind.length ? behind.reduce((a, b) => (order(a, b) < 0 ? a : b)) : null;
    const batches = this.sources.map(({ waiting }) => waiting.splice(0, edge === null ? waiting.length : upTo(waiting, edge)));
    return batches.length === 1 ? batches[0]! : merge(batches);
  }
}

/** upTo counts the lines in front that are not newer than a time. */
function upTo(lines: readonly Stamped[], time: string): number {
  const first = lines.findIndex((line) => line.time && order(line.time, time) > 0);
  return first < 0 ? lines.length : first;
}

/** merge sorts the lines of several logs by time; a line without a time stays behind the one before it. */
export function merge(batches: Stamped[][]): Stamped[] {
  const all = batches.flatMap((batch) => {
    let last = "";
    return batch.map((line) => ({ line, key: (last = line.time || last) }));
  });
  all.sort((a, b) => order(a.key, b.key));
  return all.map((entry) => entry.line);
}

/** order compares times. Trailing zeros of nanoseconds are omitted, so plain text does not sort. */
export function order(a: string, b: string): number {
  const x = a.replace(/Z$/, "");
  const y = b.replace(/Z$/, "");
  return x < y ? -1 : x > y ? 1 : 0;
}
