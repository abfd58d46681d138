// The last lines of a log, bounded in number and size.
import { order } from "./merge";

export interface Line {
  /** Counts up from 0 while the log is read; it does not change when older lines are dropped. */
  id: number;
  time: string; // RFC 3339, the node's timestamp; empty if there is none
  source: number; // the index of the container
  text: string;
  cut: number; // characters cut off at the end
}

export interface Bounds {
  lines: number;
  chars: number;
  line: number; // characters of one line
}

export const bounds: Bounds = { lines: 50_000, chars: 24_000_000, line: 16_384 };

export class Ring {
  private kept: Line[] = [];
  private from = 0; // index into kept; earlier lines are dropped
  private chars = 0;
  private next = 0;
  dropped = 0;

  constructor(private readonly bound: Bounds = bounds) {}

  get length(): number {
    return this.kept.length - this.from;
  }

  at(index: number): Line | undefined {
    return this.kept[this.from + index];
  }

  /** fill returns which part of the bounds is used, up to 1. */
  get fill(): number {
    return Math.max(this.length / this.bound.lines, this.chars / this.bound.chars);
  }

  /** indexOf returns the index of a line with this time, or -1. */
  indexOf(time: string): number {
    const index = this.kept.findIndex((line, i) => i >= this.from && line.time === time);
    return index < 0 ? -1 : index - this.from;
  }

  /** indexFrom returns the index of the first line at or after a time, or -1. */
  indexFrom(time: string): number {
    const index = this.kept.findIndex((line, i) => i >= this.from && line.time && order(line.time, time) >= 0);
    return index < 0 ? -1 : index - this.from;
  }

  push(time: string, source: number, text: string): void {
    const cut = Math.max(0, text.length - this.bound.line);
    // A slice keeps its whole string alive. Concatenation copies the string before it is sliced, so
    // a cut line frees the rest.
    const kept = cut ? ` ${text.slice(0, this.bound.line)}`.slice(1) : text;
    this.kept.push({ id: this.next++, time, source, text: kept, cut });
    this.chars += kept.length;
    while (this.length > this.bound.lines || (this.chars > this.bound.chars && this.length > 1)) {
      this.chars -= this.kept[this.from]!.text.length;
      this.from++;
      this.dropped++;
    }
    // Moving lines costs as much as there are, so it waits until half of the array is empty.
    if (this.from > 4096 && this.from > this.kept.length / 2) {
      this.kept = this.kept.slice(this.from);
      this.from = 0;
    }
  }

  /** since yields the lines from an id on. */
  *since(id: number): Generator<Line> {
    const first = this.kept[this.from];
    for (let i = this.from + Math.max(0, first ? id - first.id : 0); i < this.kept.length; i++) yield this.kept[i]!;
  }
}

const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (.*)$/s;

/** split separates the node's timestamp from a line. */
export function split(line: string): { time: string; text: string } {
  const found = stamp.exec(line);
  return found ? { time: found[1]!, text: found[2]! } : { time: "", text: line };
}

/** LineParser makes lines of pieces that are cut anywhere, and bounds lines without an end. */
export class LineParser {
  private rest: string[] = [];
  private size = 0;

  constructor(private readonly limit = 2_000_000) {}

  push(piece: string): string[] {
    const lines: string[] = [];
    let at = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", at)) {
      this.rest.push(piece.slice(at, end));
      lines.push(this.take());
      at = end + 1;
    }
    if (at < piece.length) {
      this.rest.push(piece.slice(at));
      this.size += piece.length - at;
      if (this.size > this.limit) lines.push(this.take());
    }
    return lines;
  }

  end(): string[] {
    return this.rest.length ? [this.take()] : [];
  }

  private take(): string {
    const line = this.rest.join("");
    this.rest = [];
    this.size = 0;
    return line;
  }
}
