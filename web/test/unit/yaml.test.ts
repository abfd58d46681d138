import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { documents, faultIn } from "../../src/pure/documents";
import { pieces, toYaml } from "../../src/pure/yaml";

describe("toYaml", () => {
  const values: Array<[string, unknown]> = [
    ["a pod", { apiVersion: "v1", metadata: { name: "a", labels: { app: "b" } }, spec: { containers: [{ name: "c", command: ["sh", "-c", "echo hi; exit 1"], ports: [{ containerPort: 80 }] }] } }],
    ["strings that look like something else", { a: "true", b: "1", c: "null", d: "1.5", e: "", f: "- x", g: "a: b", h: "# no", i: "yes", j: "0x1f", k: ".5", l: "a:" }],
    ["several lines", { a: "one\ntwo\n", b: "one\ntwo", c: "one\n\nthree\n\n", d: " led by a blank\n" }],
    ["empty things", { a: [], b: {}, c: null, d: [[], {}], e: [[1, 2], [3]] }],
    ["odd keys", { "a.b/c": 1, "": 2, "x y": 3, "true": 4, "a: b": 5 }],
    ["control characters", { a: "\u0000\u001b[31m", b: "\u202e" }],
    ["a list of lists", [[{ a: 1, b: [2] }], "x"]],
    ["a word", "word"],
  ];
  it.each(values)("%s survives a round trip", (_, value) => {
    expect(parse(toYaml(value))).toEqual(value);
  });
  it("has kubectl's form", () => {
    expect(toYaml({ spec: { containers: [{ name: "a", image: "b:1" }] } })).toBe("spec:\n  containers:\n  - name: a\n    image: b:1\n");
  });
});

describe("pieces", () => {
  it("splits without losing a character", () => {
    for (const line of ["a: b", "  - name: x", "- x", "  |", 'a: "b: c"', "", "a:", "plain text", '"a: b": c', "key: 12"]) {
      expect(pieces(line).map((p) => p.text).join("")).toBe(line);
    }
    expect(pieces("  a: 12").map((p) => p.kind)).toEqual(["mark", "key", "value"]);
  });
});

describe("a fault of the syntax", () => {
  const lineOf = (text: string, at = faultIn(documents(text)[0]!)) => (at ? text.slice(0, at[0]).split("\n").length : 0);
  it.each<[string, string, number]>([
    ["a wrong indent", "kind: Pod\nspec:\n  containers:\n  - name: a\n   image: b\n", 5],
    ["a tab", "kind: Pod\nspec:\n\tcontainers: []\n", 3],
    ["a bracket that stays open", "kind: Pod\nmetadata: {name: a\nspec: {}\n", 3],
    ["none", "kind: Pod\n", 0],
  ])("%s is found at its line", (_, text, line) => expect(lineOf(text)).toBe(line));
});
