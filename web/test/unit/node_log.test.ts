import { describe, expect, it } from "vitest";
import { readNodeLog } from "../../src/pure/calls";
import { appended, optionOf } from "../../src/pure/node_log";

describe("appended", () => {
  it.each([
    ["", "a\n", 10, "a\n"],
    ["one\n", "two\n", 8, "one\ntwo\n"],
    ["one\n", "two\n", 7, "two\n"],
    ["one\n", "two\n", 4, "two\n"],
    ["one\n", "a line without an end", 5, "n end"],
  ])("keeps whole lines of %j and %j within %d characters", (text, part, most, want) => expect(appended(text, part, most)).toBe(want));
});

describe("optionOf", () => {
  it.each([
    [{ name: "sshd.service", place: "journal" }, "sshd.service"],
    [{ name: "runtime", place: "/var/lib/kubelet/runtime/containerd.log" }, "runtime (/var/lib/kubelet/runtime/containerd.log)"],
    [{ name: "agent", message: "it goes to a pipe" }, "agent: cannot be read"],
  ])("names %j", (log, want) => expect(optionOf(log)).toBe(want));
});

describe("readNodeLog", () => {
  it("asks for the part that is wanted", () => {
    expect(readNodeLog("user@0.service", { tailLines: 5, pattern: "a b", follow: false }).path).toBe("/v1/node/logs/user%400.service?tailLines=5&pattern=a+b");
    expect(readNodeLog("agent", {}).path).toBe("/v1/node/logs/agent");
  });
});
