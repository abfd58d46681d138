import { describe, expect, it } from "vitest";
import { Feed } from "../../src/pure/feed";

/** Slow is a terminal that writes its data only when a test says so. */
class Slow {
  shown = "";
  given = 0;
  private readonly pending: Array<{ text: string; done: () => void }> = [];
  readonly feed = new Feed(
    (data, done) => {
      this.given += data.length;
      this.pending.push({ text: new TextDecoder().decode(data), done });
    },
    { under: 8, kept: 20 },
  );

  push(...texts: string[]): void {
    for (const text of texts) this.feed.push(new TextEncoder().encode(text));
  }

  take(): void {
    for (let next = this.pending.shift(); next; next = this.pending.shift()) {
      this.shown += next.text;
      next.done();
    }
  }
}

describe("Feed", () => {
  it("passes output on unchanged", () => {
    const slow = new Slow();
    slow.push("one ", "two ");
    slow.take();
    slow.push("three");
    slow.take();
    expect(slow.shown).toBe("one two three");
  });
  it("gives a slow terminal no more than it can hold, and says how much it dropped", () => {
    const slow = new Slow();
    for (let i = 0; i < 1000; i++) slow.push(`${String(i).padStart(3, "0")} `);
    expect(slow.given).toBe(8);
    slow.take();
    expect(slow.shown).toMatch(/^000 001 \x18\x1b\[0m\r\n\[3,972 bytes came too fast to be shown\]\r\n995 996 997 998 999 $/);
  });
  it("shows all output once it has caught up", () => {
    const slow = new Slow();
    for (let i = 0; i < 1000; i++) slow.push("yyyy");
    slow.take();
    slow.push("$ ");
    slow.take();
    expect(slow.shown).toMatch(/y\$ $/);
  });
});
