import { expect, it } from "vitest";
import { said } from "../../src/pure/said";

it.each([
  ["plain words in any script are as they are", "Grüße żółw 日本語", "Grüße żółw 日本語"],
  ["lines stay lines, whatever ends them", "one\r\ntwo\n", "one\ntwo\n"],
  ["colours, titles and what turns text around do nothing", "\x1b]0;title\x07\x1b[31m\u202ered\x1b[0m", "\ufffdred"],
  ["HTML stays text", "<b>bold</b>", "<b>bold</b>"],
  ["a long id keeps what tells it apart", `container ${"0123456789abcdef".repeat(4)} is gone`, "container 0123456789ab is gone"],
])("%s", (_, text, want) => expect(said(text)).toBe(want));
