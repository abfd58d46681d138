import { describe, expect, it } from "vitest";
import { ansi, strip } from "../../src/pure/ansi";

describe("ansi", () => {
  const cases: Array<[string, string, Array<[string, string]>]> = [
    ["plain text is one run", "hello", [["hello", ""]]],
    ["an empty line is none", "", []],
    ["colours begin and end", "a\x1b[31mb\x1b[0mc", [["a", ""], ["b", "f1"], ["c", ""]]],
    ["codes add up", "\x1b[1;4;92mx", [["x", "f10 bold underline"]]],
    ["256 colours become the nearest of 16", "\x1b[38;5;196mx", [["x", "f9"]]],
    ["true colours too, and what follows them counts", "\x1b[38;2;0;255;0;1mx", [["x", "f10 bold"]]],
    ["a title of the window is left out", "a\x1b]0;title\x07b", [["a", ""], ["b", ""]]],
    ["moving the cursor is left out", "a\x1b[2J\x1b[1;1Hb", [["a", ""], ["b", ""]]],
    ["a bar drawn over itself ends up as its last state", "10%\r50%\r100%", [["100%", ""]]],
    ["control characters are shown", "a\x00b\x07", [["a␀b␇", ""]]],
    ["what turns text around is shown", "a\u202eb", [["a\ufffdb", ""]]],
    ["HTML stays text", "<img src=x onerror=alert(1)>", [["<img src=x onerror=alert(1)>", ""]]],
    ["an unfinished sequence does no harm", "a\x1b[", [["a␛[", ""]]],
  ];
  it.each(cases)("%s", (_, line, want) => {
    expect(ansi(line).map((run) => [run.text, run.classes])).toEqual(want);
  });
  it("strips to the visible text", () => expect(strip("\x1b[1mbold\x1b[0m and not")).toBe("bold and not"));
});
