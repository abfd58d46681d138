import { effect } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { images, imagesProblem, keepImages, readImages } from "../../src/state/images";
import { events } from "../../src/state/live";
import { refusals } from "../../src/api/request";
import { session } from "../../src/state/session";

describe("the list of images", () => {
  let held: Array<(answer: Response | Error) => void>;
  let page: EventTarget & { hidden: boolean };
  let frame: EventTarget;
  const soon = () => new Promise((done) => setTimeout(done));
  const listed = (id: string) => Response.json({ images: [{ id }] });

  beforeEach(() => {
    held = [];
    page = Object.assign(new EventTarget(), { hidden: false });
    frame = new EventTarget();
    vi.stubGlobal("document", page);
    vi.stubGlobal("window", frame);
    vi.stubGlobal("fetch", () => new Promise((done, fail) => held.push((answer) => (answer instanceof Error ? fail(answer) : done(answer)))));
    session.value = { name: "a", role: "admin", via: "session", can: ["read"], live: true };
    events.value = [];
    images.value = null;
  });
  afterEach(() => void vi.unstubAllGlobals());

  it("is read when the page opens, after a pull, and when the page becomes visible", () => {
    const stop = effect(keepImages);
    expect(held).toHaveLength(1);
    events.value = [{ reason: "Started", revision: "1" }];
    expect(held).toHaveLength(1);
    events.value = [{ reason: "Pulled", revision: "2" }, ...events.value];
    expect(held).toHaveLength(2);
    page.hidden = true;
    page.dispatchEvent(new Event("visibilitychange"));
    expect(held).toHaveLength(2);
    page.hidden = false;
    page.dispatchEvent(new Event("visibilitychange"));
    expect(held).toHaveLength(3);
    frame.dispatchEvent(new Event("focus")); // the window gets the focus, as when it lay beside another one
    expect(held).toHaveLength(4);
    stop();
    page.dispatchEvent(new Event("visibilitychange"));
    frame.dispatchEvent(new Event("focus"));
    expect(held).toHaveLength(4);
  });
  it("ignores a late answer", async () => {
    const both = Promise.all([readImages(), readImages()]);
    held[1]!(listed("new"));
    await soon();
    held[0]!(listed("old"));
    await both;
    expect(images.value).toEqual([{ id: "new" }]);
  });
  it("stays when the node does not answer, with a message until it does", async () => {
    const ask = async (answer: Response | Error) => {
      const asked = readImages();
      held.at(-1)!(answer);
      await asked;
    };
    await ask(listed("one"));
    await ask(new TypeError("network error"));
    expect([images.value, imagesProblem.value]).toEqual([[{ id: "one" }], "The node does not answer."]);
    await ask(Response.json({}));
    expect([images.value, imagesProblem.value]).toEqual([[], ""]);
  });
  it("is not shown to the next user", async () => {
    const asked = readImages();
    refusals.dispatchEvent(new Event("refused"));
    held[0]!(listed("theirs"));
    await asked;
    expect([session.value, images.value]).toEqual([null, null]);
  });
});
