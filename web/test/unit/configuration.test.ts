import { describe, expect, it } from "vitest";
import { takenText, valueText } from "../../src/pure/configuration";

describe("valueText", () => {
  it.each([
    ["/etc/ca.crt", "/etc/ca.crt"],
    [7, "7"],
    [false, "false"],
    [null, "null"],
    [undefined, "null"],
    [{ "memory.available": "1Gi" }, '{"memory.available":"1Gi"}'],
  ])("shows %j", (value, want) => expect(valueText(value)).toBe(want));
});

describe("takenText", () => {
  const now = Date.parse("2030-01-01T12:00:00Z");
  it("says what was taken, and when", () => {
    expect(takenText({ taken: ["maxPods", "evictionHard"], takenAt: "2030-01-01T11:59:30Z" }, now)).toBe("maxPods, evictionHard, 30s ago");
    expect(takenText({}, now)).toBe("nothing since the start");
  });
});
