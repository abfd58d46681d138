import { describe, expect, it } from "vitest";
import { linesOf, signalName } from "../../src/pure/pressure";

const noon = Date.parse("2026-05-01T12:00:00Z");

describe("what the node may run short of", () => {
  it("has a line for each threshold, and none for the disk of containers", () => {
    const lines = linesOf({
      signals: [
        { name: "memory.available", capacity: "4Gi", available: "1Gi", thresholds: [{ least: "100Mi" }, { least: "2Gi", grace: "90s", crossedAt: "2026-05-01T11:59:30Z" }] },
        { name: "nodefs.available", capacity: "100Gi", available: "5Gi", thresholds: [{ least: "10Gi", crossedAt: "2026-05-01T11:58:00Z", due: true }] },
        { name: "containerfs.available", capacity: "100Gi", available: "5Gi", thresholds: [{ least: "10Gi", due: true }] },
        { name: "pid.available", message: "no such file", thresholds: [{ least: "1k" }] },
        { name: "imagefs.available", capacity: "1Gi", available: "1Gi" },
      ],
    }, noon);
    expect(lines.map((l) => [l.name, l.health])).toEqual([
      ["Memory", "ready"], ["Memory", "starting"], ["Disk", "failing"], ["Processes", "starting"],
    ]);
    expect(lines[1]!.state).toContain("pods go after 90s");
    expect(lines[2]!.state).toContain("pods are evicted");
    expect(lines[3]!.left).toBe("not known");
    expect(lines[3]!.least).toBe("1000");
  });

  it("names the resource that pods are ranked for", () => {
    expect(signalName("nodefs.available")).toBe("disk");
    expect(signalName(undefined)).toBe("");
  });
});
