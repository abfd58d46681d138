// The matching lines of a log, updated as lines come and go.
import { strip } from "./ansi";
import type { Line, Ring } from "./ring";

export type Level = "error" | "warn" | "debug" | "";

const levels: Array<[RegExp, Level]> = [
  [/\b(ERROR|ERR|FATAL|PANIC|CRITICAL|level=(error|fatal)|"level":"(error|fatal)")\b/i, "error"],
  [/\b(WARN|WARNING|level=warn(ing)?|"level":"warn(ing)?")\b/i, "warn"],
  [/\b(DEBUG|TRACE|level=(debug|trace))\b/i, "debug"],
];

/** levelOf finds the level at the beginning of a line, where loggers put it. */
export const levelOf = (text: string): Level => levels.find(([pattern]) => pattern.test(text.slice(0, 160)))?.[1] ?? "";

export interface Wish {
  words: string;
  /** The lowest level shown; empty: all. */
  level: "" | "warn" | "error";
}

export class Finder {
  private found: Line[] = [];
  private next = 0;
  /** gone counts the matches that have been dropped since. */
  gone = 0;
  private readonly words: string;

  constructor(
    private readonly ring: Ring,
    private readonly wish: Wish,
  ) {
    this.words = wish.words.toLowerCase();
  }

  /** look reads only the lines since the last time, so a search does not slow a fast log down. */
  look(): readonly Line[] {
    const first = this.ring.at(0)?.id ?? 0;
    if (this.found.length > 0 && this.found[0]!.id < first) {
      const kept = this.found.filter((line) => line.id >= first);
      this.gone += this.found.length - kept.length;
      this.found = kept;
    }
    for (const line of this.ring.since(this.next)) {
      if (this.matches(line.text)) this.found.push(line);
      this.next = line.id + 1;
    }
    return this.found;
  }

  private matches(raw: string): boolean {
    const text = strip(raw);
    const level = this.wish.level && levelOf(text);
    if (this.wish.level && level !== "error" && level !== this.wish.level) return false;
    return !this.words || text.toLowerCase().includes(this.words);
  }
}
