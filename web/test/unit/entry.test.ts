import { describe, expect, it } from "vitest";
import { entryOf, placeOf } from "../../src/pure/entry";
import { kindOf } from "../../src/pure/kinds";

describe("what lists say", () => {
  it.each([
    ["runtimeclasses", { handler: "runc" }, "handler runc"],
    ["priorityclasses", { value: 1000 }, "1000"],
    ["leases", { spec: { holderIdentity: "a" } }, "a"],
    ["leases", {}, ""],
    ["priorityclasses", { value: -5, globalDefault: true }, "-5, by default"],
  ])("of %s", (kind, object, want) => {
    expect(kindOf(kind)?.what?.(object)).toBe(want);
  });
});

describe("entryOf", () => {
  it.each([
    ["a Secret's type", { kind: "Secret", keys: ["a"], object: { type: "Opaque", immutable: true } }, { keys: ["a"], type: "Opaque", immutable: true }],
    ["a bundle's signer", { kind: "ClusterTrustBundle", object: { spec: { signerName: "example.com/ca" } } }, { signerName: "example.com/ca" }],
    [
      "a volume's size, and whose it is",
      { kind: "PersistentVolume", object: { spec: { capacity: { storage: "1Gi" }, storageClassName: "slow", claimRef: { namespace: "shop", name: "data" } }, status: { phase: "Bound" } } },
      { capacity: "1Gi", storageClass: "slow", claim: "shop/data", phase: "Bound" },
    ],
    [
      "what a claim has got",
      { kind: "PersistentVolumeClaim", object: { spec: { volumeName: "disk" }, status: { phase: "Bound", capacity: { storage: "2Gi" } } } },
      { volume: "disk", capacity: "2Gi", phase: "Bound" },
    ],
    [
      "what a claim waits for, and no more",
      { kind: "PersistentVolumeClaim", message: "no PersistentVolume fits", object: { spec: { volumeName: "disk" }, status: { phase: "Pending" } } },
      { message: "no PersistentVolume fits", volume: undefined, capacity: undefined },
    ],
    ["that it is going", { kind: "PersistentVolume", object: { metadata: { deletionTimestamp: "2026-05-01T12:00:00Z" } } }, { deleting: true }],
  ])("shows %s", (_, told, want) => {
    expect(entryOf(told)).toMatchObject(want);
  });
});

describe("placeOf", () => {
  it("names what alone may change an object", () => {
    expect(placeOf({ source: "api" })).toBeUndefined();
    expect(placeOf({})).toBeUndefined();
    expect(placeOf({ source: "file", origin: "/etc/pods/a.yaml" })).toBe("the file /etc/pods/a.yaml");
    expect(placeOf({ source: "url", origin: "https://pods.test/" })).toBe("the URL https://pods.test/");
  });
});
