import { describe, expect, it } from "vitest";
import { readRun } from "../../src/pure/calls";
import { fileOf, keptOf, runOf, sizeWords } from "../../src/pure/kept_logs";

const first = { namespace: "a", name: "web", uid: "u1", container: "main", bytes: "1024", kept: true, deleted: true };
const log = { ...first, attempt: 2, bytes: "2048" };

describe("the logs that are kept", () => {
  it("come newest first, without those that pods still have", () => {
    expect(keptOf([first, { ...log, kept: false }, log])).toEqual([log, first]);
  });

  it("are named by their run", () => {
    expect([runOf(log), runOf(first)]).toEqual(["a/web main, run 2", "a/web main, run 0"]);
    expect(fileOf(first)).toBe("web-main-u1-0.log");
  });

  it.each([
    [[], "none"],
    [[log], "1 run; 2.0 KiB"],
    [[log, first], "2 runs; 3.0 KiB"],
  ])("are counted", (logs, want) => expect(sizeWords(logs)).toBe(want));

  it("are read by UID and attempt, the first run too", () => {
    expect(readRun(log).path).toBe("/v1/namespaces/a/pods/web/containers/main/logs?uid=u1&attempt=2&kept=true");
    expect(readRun({ ...first, kept: false }).path).toBe("/v1/namespaces/a/pods/web/containers/main/logs?uid=u1&attempt=0");
  });
});
