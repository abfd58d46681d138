import { expect, it } from "vitest";
import { textOf } from "../../src/pure/secret";

it("a value of a Secret is text or binary", () => {
  expect([textOf("Z3LDvMOfZQ=="), textOf(""), textOf("//79/A==")]).toEqual(["grüße", "", null]);
});
