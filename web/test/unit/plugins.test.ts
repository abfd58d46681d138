import { describe, expect, it } from "vitest";
import { heldBy, offererOf, standingOf, stateOf, summaryOf } from "../../src/pure/plugins";

describe("offererOf", () => {
  it.each([
    [{ socket: "gpu.sock" }, "plugin gpu.sock"],
    [{ socket: "/var/lib/kubelet/plugins_registry/gpu.sock" }, "plugin gpu.sock"],
    [{}, "plugin"],
    [{ cdiKind: "nvidia.com/gpu", shares: 1 }, "CDI nvidia.com/gpu"],
    [{ cdiKind: "nvidia.com/gpu", shares: 4 }, "CDI nvidia.com/gpu, 4 shares each"],
  ])("says of %j where the devices come from", (resource, want) => expect(offererOf(resource)).toBe(want));
});

describe("stateOf", () => {
  it.each([
    [{ connected: true }, ""],
    [{ connected: false }, "its plugin is not there"],
    [{ connected: true, message: "no spec" }, "no spec"],
  ])("says of %j what is wrong", (resource, want) => expect(stateOf(resource)).toBe(want));
});

describe("standingOf", () => {
  it.each([
    [{ registered: true, connected: true }, "registered"],
    [{ connected: true, message: "not served" }, "not registered: not served"],
    [{ message: "broken" }, "not connected: broken"],
  ])("says of %j how it stands", (plugin, want) => expect(standingOf(plugin)).toBe(want));
});

describe("summaryOf", () => {
  it("counts resources, plugins and problems", () => {
    expect(summaryOf({})).toBe("none");
    expect(summaryOf({ devices: [{ connected: true }] })).toBe("1 resource of devices, 0 plugins in the registry");
    expect(summaryOf({ devices: [{}, { connected: true }], plugins: [{ registered: true }] })).toBe(
      "2 resources of devices, 1 plugin in the registry, 1 with a problem",
    );
  });
});

describe("heldBy", () => {
  it.each([
    [{ cpus: "2-3" }, "CPUs 2-3"],
    [{ memory: [{ resource: "memory", bytes: "1073741824" }] }, "1.0 GiB of memory on NUMA node 0"],
    [{ cpus: "4", devices: [{ resource: "example.com/gpu", ids: ["a", "b"] }] }, "CPUs 4; example.com/gpu a, b"],
  ])("says of %j what it is", (share, want) => expect(heldBy(share)).toBe(want));
});
