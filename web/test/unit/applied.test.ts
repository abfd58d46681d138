import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Pod } from "../../src/api/gen";
import { applied, remember } from "../../src/state/applied";
import { pods } from "../../src/state/live";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("the duration of a bundle is known on every page, and does not grow", () => {
  const tell = (pod: Pod) => (pods.value = new Map([["default/web", { namespace: "default", name: "web", uid: "u", phase: "POD_PHASE_RUNNING", ...pod }]]));
  tell({ ready: false });
  remember({ outcomes: [{ kind: "Pod", namespace: "default", name: "web", uid: "u", result: "RESULT_CREATED" }], undo: { manifest: "", back: [], left: [] }, at: Date.now() });
  vi.advanceTimersByTime(3000);
  expect(applied.value?.took).toBeUndefined();
  tell({ ready: true });
  vi.advanceTimersByTime(600_000);
  tell({ ready: false });
  tell({ ready: true });
  expect(applied.value?.took).toBe(3000);
});
