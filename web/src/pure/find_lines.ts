// The matching lines of a log, updated as lines come and go.
import { strip } from "./ansi";
import { levelOf } from "./level";
import type { Line, Ring } from "./ring";
import { type Seek, seekOf } from "./seek";

export interface Wish {
  words: string;
  /** The lowest level shown; empty: all. */
  level: "" | "warn" | "error";
  /** How many lines are shown before and after each match. */
  around: number;
}

/** arounds are the numbers of lines around a match that a user can choose. */
export const arounds = [0, 3, 10, 30];

/** wishOf reads a search from an address, which can be sent. */
export function wishOf(query: URLSearchParams): Wish {
  const level = query.get("level") ?? "";
  const around = Number(query.get("around"));
  return { words: query.get("q") ?? "", level: level === "warn" || level === "error" ? level : "", around: arounds.includes(around) ? around : 0 };
}

export class Finder {
  private found: Line[] = [];
  private next = 0;
  /** gone counts the lines that have been dropped since. */
  gone = 0;
  /** beside holds the lines that are shown because they stand beside a match. */
  readonly beside = new Set<number>();
  private after = 0; // lines that are still to be shown behind the last match
  private readonly seek: Seek;

  constructor(
    private readonly ring: Ring,
    private readonly wish: Wish,
  ) {
    this.seek = seekOf(wish.words);
  }

  /** look reads only the lines since the last time, so a search does not slow a fast log down. */
  look(): readonly Line[] {
    const first = this.ring.at(0)?.id ?? 0;
    if (this.found.length > 0 && this.found[0]!.id < first) {
      const kept = this.found.filter((line) => line.id >= first || void this.beside.delete(line.id));
      this.gone += this.found.length - kept.length;
      this.found = kept;
    }
    for (const line of this.ring.since(this.next)) {
      if (this.matches(line.text)) this.take(line, first);
      else if (this.after-- > 0) this.add(line);
      this.next = line.id + 1;
    }
    return this.found;
  }

  /** matched counts the matches. */
  get matched(): number {
    return this.found.length - this.beside.size;
  }

  /** take shows a match behind the lines before it. */
  private take(line: Line, first: number): void {
    const shown = (this.found.at(-1)?.id ?? -1) + 1;
    for (let id = Math.max(shown, line.id - this.wish.around, first); id < line.id; id++) this.add(this.ring.at(id - first)!);
    this.found.push(line);
    this.after = this.wish.around;
  }

  private add(line: Line): void {
    this.found.push(line);
    this.beside.add(line.id);
  }

  private matches(raw: string): boolean {
    const text = strip(raw);
    const level = this.wish.level && levelOf(text);
    if (this.wish.level && level !== "error" && level !== this.wish.level) return false;
    return this.seek.matches(text);
  }
}
