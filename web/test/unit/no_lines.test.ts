import { expect, it } from "vitest";
import { noLines } from "../../src/pure/no_lines";

it.each([
  ["it is still being looked through", { looking: true, sought: false, ended: false }, "Looking through the log…"],
  ["it is still being looked through for some words", { looking: true, sought: true, ended: false }, "Looking through the log…"],
  ["none has the words", { looking: false, sought: true, ended: true }, "No line matches."],
  ["none was printed by a run that is over", { looking: false, sought: false, ended: true }, "The log is empty."],
  ["none was printed so far", { looking: false, sought: false, ended: false }, "Nothing has been printed yet."],
])("a log without lines says that %s", (_, why, want) => expect(noLines(why)).toBe(want));
