// The matching lines of a log, updated as lines come and go.
import { strip } from "./ansi";
import { levelOf } from "./level";
import type { Line, Ring } from "./ring";
import { type Seek, seekOf } from "./seek";

export interface Wish {
  words: string;
  /** The lowest level shown; empty: all. */
  level: "" | "warn" | "error";
}

/** wishOf reads a search from an address, which can be sent. */
export function wishOf(query: URLSearchParams): Wish {
  const level = query.get("level") ?? "";
  return { words: query.get("q") ?? "", level: level === "warn" || level === "error" ? level : "" };
}

export class Finder {
  private found: Line[] = [];
  private next = 0;
  /** gone counts the matches that have been dropped since. */
  gone = 0;
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
    return this.seek.matches(text);
  }
}
