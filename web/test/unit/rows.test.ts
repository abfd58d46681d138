import { describe, expect, it } from "vitest";
import type { Line } from "../../src/pure/ring";
import { goneSince, type Listed, Rows, shownChars } from "../../src/pure/rows";

const line = (id: number, text: string): Line => ({ id, time: "", source: 0, text, cut: 0 });
const of = {};

/** listed holds lines of these lengths, after some that are gone. */
const listed = (lengths: number[], gone = 0, from: object = of): Listed => ({
  of: from,
  count: lengths.length,
  gone,
  at: (i) => (lengths[i] === undefined ? undefined : line(gone + i, "x".repeat(lengths[i]))),
});

describe("Rows", () => {
  it("gives each line a row if lines do not wrap", () => {
    const rows = new Rows(0).look(listed([100, 0, 5], 7));
    expect([rows.all, rows.gone, rows.top(2), rows.at(1)]).toEqual([3, 7, 2, 1]);
  });

  it("gives a line as many rows as it fills", () => {
    const rows = new Rows(10).look(listed([0, 10, 11, 25]));
    expect(rows.all).toBe(1 + 1 + 2 + 3);
    expect([0, 1, 2, 3, 4].map(rows.top)).toEqual([0, 1, 2, 4, 7]);
    expect([0, 1, 2, 3, 4, 6, 99].map(rows.at)).toEqual([0, 1, 2, 2, 3, 3, 3]);
  });

  it("counts no colours, and of long lines what is shown", () => {
    const texts = ["\u001b[31mred\u001b[0m", "y".repeat(shownChars * 5)];
    const rows = new Rows(10).look({ of, count: 2, gone: 0, at: (i) => line(i, texts[i]!) });
    expect(rows.top(1)).toBe(1);
    expect(rows.all).toBe(1 + (shownChars + 20) / 10);
  });

  it("measures new lines and forgets those that are gone", () => {
    const rows = new Rows(10);
    rows.look(listed([25, 5]));
    const now = rows.look(listed([5, 15, 5], 1));
    expect([now.all, now.gone, now.top(2)]).toEqual([4, 3, 3]);
    expect(rows.look(listed([], 4)).all).toBe(0);
    expect(rows.look(listed([30], 4)).all).toBe(3);
  });

  it("begins anew with other lines", () => {
    const rows = new Rows(10);
    rows.look(listed([25, 5], 3));
    const other = rows.look(listed([5], 0, {}));
    expect([other.all, other.gone]).toEqual([1, 0]);
  });

  it("counts what has gone within one count alone", () => {
    const rows = new Rows(10);
    const before = rows.look(listed([25, 5]));
    const now = rows.look(listed([5, 15, 5], 1));
    expect([goneSince(null, now), goneSince(before, now)]).toEqual([0, 3]);
    expect(goneSince(now, new Rows(20).look(listed([5, 15, 5], 1)))).toBe(0);
    expect(goneSince(now, new Rows(0).look(listed([5, 15, 5], 1)))).toBe(0);
    expect(goneSince(now, rows.look(listed([5], 0, {})))).toBe(0);
  });

  it("keeps its place over many lines that come and go", () => {
    const rows = new Rows(10);
    for (let gone = 0; gone < 20_000; gone += 500) {
      const now = rows.look(listed(Array.from({ length: 1000 }, (_, i) => ((gone + i) % 2 ? 15 : 5)), gone));
      expect([now.all, now.gone]).toEqual([1500, gone * 1.5]);
    }
  });
});
