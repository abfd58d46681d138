import { afterEach, expect, it, vi } from "vitest";

afterEach(() => vi.unstubAllGlobals());

async function at(pathname: string) {
  vi.resetModules();
  vi.stubGlobal("location", { pathname });
  return import("../../src/api/through");
}

it.each([
  ["/ui/", ""],
  ["/ui/pods/default/web", ""],
  ["/ui/at", ""],
  ["/ui/at/edge-2", "/ui/at/edge-2"],
  ["/ui/at/edge-2/pods/default/web", "/ui/at/edge-2"],
  ["/ui/pods/at/x", ""],
  ["/ui/at/%E0/", "/ui/at/%E0"],
])("the page %s shows a node at %j", async (path, want) => expect((await at(path)).through).toBe(want));

it("asks the shown node for everything but who is signed in here", async () => {
  const { whole } = await at("/ui/at/edge-2/");
  expect([whole("/v1/pods"), whole("/v1/manifests", "POST"), whole("/ui/session"), whole("/ui/session", "POST"), whole("/ui/session", "DELETE")]).toEqual([
    "/ui/at/edge-2/v1/pods", "/ui/at/edge-2/v1/manifests", "/ui/at/edge-2/ui/session", "/ui/session", "/ui/session",
  ]);
});
