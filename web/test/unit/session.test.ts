import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { refusals } from "../../src/api/request";
import { applied } from "../../src/state/applied";
import { copy } from "../../src/state/clipboard";
import { images, imports } from "../../src/state/images";
import { node, pods } from "../../src/state/live";
import { acting, keepSession, onLeaving, session, signIn, signInProblem, signOut } from "../../src/state/session";

const admin = { name: "admin", role: "admin", via: "session", can: ["read" as const, "write" as const], live: true };

describe("the end of a session", () => {
  let answers: Array<() => Promise<Response>>;
  beforeEach(() => {
    vi.useFakeTimers();
    answers = [];
    vi.stubGlobal("fetch", () => answers.shift()!());
    session.value = admin;
    acting.value = true;
    signInProblem.value = "";
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  const away = () => Promise.reject(new TypeError("network error"));
  const done = () => Promise.resolve(new Response(null, { status: 204 }));

  it("leaves nothing of the user", async () => {
    const stop = vi.fn();
    const pod = { namespace: "default", name: "web" };
    pods.value = new Map([["default/web", pod]]);
    applied.value = { outcomes: [], undo: { manifest: "", back: [], left: [] }, at: 0 };
    node.value = { name: "edge" };
    images.value = [];
    imports.value = [{ id: 1, file: "a.tar", size: 1, sent: 0, taking: "", done: null, problem: "", stop }];
    const closed = vi.fn();
    onLeaving(closed);
    answers.push(done);
    await signOut();
    expect([session.value, acting.value, node.value, applied.value, images.value]).toEqual([null, false, null, null, null]);
    expect([pods.value.size, imports.value.length]).toEqual([0, 0]);
    expect(stop).toHaveBeenCalledOnce();
    expect(closed).toHaveBeenCalledOnce();
  });
  it("is the same when the node ends it", () => {
    const closed = vi.fn();
    onLeaving(closed);
    refusals.dispatchEvent(new Event("refused"));
    expect([session.value, signInProblem.value]).toEqual([null, "Your session has ended."]);
    expect(closed).toHaveBeenCalledOnce();
  });
  it("reaches the node before the next session begins", async () => {
    let answer = (_: Response) => {};
    answers.push(() => new Promise((told) => (answer = told)), () => Promise.resolve(Response.json(admin)));
    const over = signOut();
    const begun = signIn({ token: "t" });
    await vi.advanceTimersByTimeAsync(1000);
    expect([answers.length, session.value]).toEqual([1, null]);
    answer(new Response(null, { status: 204 }));
    expect(await begun).toBe(true);
    await over;
    expect([answers.length, session.value]).toEqual([0, admin]);
  });
  it("is not undone by a late answer about the user before", async () => {
    vi.stubGlobal("document", { hidden: false });
    let answer = (_: Response) => {};
    answers.push(() => new Promise((told) => (answer = told)));
    const stop = keepSession();
    await vi.advanceTimersByTimeAsync(10_000);
    stop();
    const next = { ...admin, name: "next" };
    session.value = next;
    answer(Response.json(admin));
    await vi.advanceTimersByTimeAsync(1000);
    expect([answers.length, session.value]).toEqual([0, next]);
  });
  it("reaches a node that was away once it comes back", async () => {
    answers.push(away, away, done);
    const over = signOut();
    expect(session.value).toBeNull();
    await vi.advanceTimersByTimeAsync(1000);
    expect(signInProblem.value).toContain("The node does not answer.");
    await vi.advanceTimersByTimeAsync(4000);
    await over;
    expect([signInProblem.value, answers.length]).toEqual(["", 0]);
  });
});

describe("copy", () => {
  afterEach(() => void vi.unstubAllGlobals());

  it("selects the text if there is no clipboard, even within a dialog", async () => {
    const area = { value: "", select: vi.fn(), remove: vi.fn() };
    const dialog = { append: vi.fn() };
    const focused = { focus: vi.fn() };
    vi.stubGlobal("navigator", {});
    vi.stubGlobal("document", { activeElement: focused, createElement: () => area, querySelector: () => dialog, execCommand: () => area.select.mock.calls.length === 1 });
    expect(await copy("curl")).toBe(true);
    expect(area.value).toBe("curl");
    expect(dialog.append).toHaveBeenCalledWith(area);
    expect(area.remove).toHaveBeenCalledOnce();
    expect(focused.focus).toHaveBeenCalledOnce();
  });
});
