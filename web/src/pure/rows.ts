// Where the lines of a log stand. A line takes one row, or several if lines wrap.
import { strip } from "./ansi";
import type { Line } from "./ring";

/** shownChars bounds what a row shows of a line; a click shows the rest. */
export const shownChars = 2000;

/** Listed holds lines, of which new ones come at the end and old ones go in front. */
export interface Listed {
  /** Where they come from: another one has other lines. */
  of: object;
  count: number;
  gone: number; // lines dropped in front so far
  at(index: number): Line | undefined;
}

/** Standing tells how many rows are above each line. */
export interface Standing {
  /** Whose rows these are: others are counted from another start. */
  of: object;
  all: number;
  gone: number; // rows of dropped lines
  top(index: number): number;
  /** at returns the line that stands in a row. */
  at(row: number): number;
}

/** goneSince counts the rows that have gone in front, if both are of the same count. */
export const goneSince = (before: Standing | null, now: Standing) => (before?.of === now.of ? now.gone - before.gone : 0);

const longer = 20; // characters of the words behind a line that is shown in part

export class Rows {
  private of: object | undefined;
  private count: object = {};
  private gone = 0;
  /** The rows down to the end of each line, counted from the first one ever, from an index on. */
  private ends: number[] = [];
  private from = 0;
  private before = 0;

  /** columns is the width of a row; 0: lines do not wrap. */
  constructor(private readonly columns: number) {}

  /** look measures the lines since the last time. */
  look(listed: Listed): Standing {
    const { count, gone } = listed;
    if (this.columns === 0) return { of: listed.of, all: count, gone, top: (index) => index, at: (row) => row };
    if (listed.of !== this.of) this.restart(listed);
    this.drop(gone - this.gone);
    this.gone = gone;
    for (let i = this.ends.length - this.from; i < count; i++) this.ends.push(this.end() + this.heightOf(listed.at(i)));
    const top = (index: number) => (index > 0 ? (this.ends[this.from + Math.min(index, count) - 1] ?? this.before) : this.before) - this.before;
    return { of: this.count, all: top(count), gone: this.before, top, at: (row) => search(count, (index) => top(index + 1) > row) };
  }

  private restart({ of, gone }: Listed): void {
    this.of = of;
    this.count = {};
    this.gone = gone;
    this.ends = [];
    this.from = this.before = 0;
  }

  private drop(lines: number): void {
    const some = Math.min(lines, this.ends.length - this.from);
    if (some <= 0) return;
    this.from += some;
    this.before = this.ends[this.from - 1]!;
    // As in a ring, moving waits until half of the array is of no use.
    if (this.from > 4096 && this.from > this.ends.length / 2) {
      this.ends = this.ends.slice(this.from);
      this.from = 0;
    }
  }

  private end(): number {
    return this.ends.length > this.from ? this.ends.at(-1)! : this.before;
  }

  private heightOf(line: Line | undefined): number {
    const text = line?.text ?? "";
    const characters = text.length > shownChars ? shownChars + longer : strip(text).length;
    return Math.max(1, Math.ceil(characters / this.columns));
  }
}

/** search returns the first index that is right, or the last one. */
function search(count: number, right: (index: number) => boolean): number {
  let low = 0;
  for (let high = Math.max(0, count - 1); low < high; ) {
    const middle = (low + high) >> 1;
    if (right(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
