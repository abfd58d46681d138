import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../src/api/request";
import { applyRead, Overtaken, type Reading, reading, unlessOvertaken } from "../../src/state/reading";
import { session, signOut } from "../../src/state/session";

const manifest = (image: string, name = "web") => `kind: Pod\nmetadata: {name: ${name}, namespace: default}\nspec: {image: ${image}}\n`;
const bundle = manifest("mine");
const changed = () => new ApiError(409, "changed", [], 10);

/** read has these states, one at each look: an image and a revision. */
function read(...states: Array<[image: string, revision: string]>): Reading {
  const all = states.map(([image, revision]) => ({ text: manifest(image), revision }));
  return { name: "pod default/web", text: manifest("a"), revision: "1", again: () => Promise.resolve(all.length > 1 ? all.shift()! : all[0]!) };
}

const gone = (): Reading => ({ ...read(), again: () => Promise.reject(new ApiError(404, "no such pod")) });

/** revisions collects those with which a bundle is sent. */
async function revisions(of: Reading | null, text: string) {
  const sent: string[] = [];
  await unlessOvertaken(of, text, (since) => Promise.resolve(void sent.push(since)));
  return sent;
}

describe("unlessOvertaken", () => {
  it("names the revision of the last look", async () => expect(await revisions(read(["a", "7"]), bundle)).toEqual(["7"]));

  it("names none where nothing was read", async () => expect(await revisions(null, bundle)).toEqual([""]));

  it("names none for a bundle of more, but looks whether others have changed it", async () => {
    const more = `${bundle}---\n${manifest("x", "other")}`;
    expect(await revisions(read(["a", "7"]), more)).toEqual([""]);
    await expect(revisions(read(["b", "7"]), more)).rejects.toThrow(Overtaken);
  });

  it("names none for another object", async () => expect(await revisions(read(["b", "7"]), manifest("x", "other"))).toEqual([""]));

  it("changes nothing if others have, or if it is gone", async () => {
    for (const of of [read(["b", "7"]), gone()]) {
      let sent = 0;
      await expect(unlessOvertaken(of, bundle, () => Promise.resolve(sent++))).rejects.toThrow(Overtaken);
      expect(sent).toBe(0);
    }
  });

  it("looks again while only the status has changed", async () => {
    const sent: string[] = [];
    const change = (since: string) => {
      sent.push(since);
      return since === "9" ? Promise.resolve("done") : Promise.reject(changed());
    };
    expect(await unlessOvertaken(read(["a", "7"], ["a", "8"], ["a", "9"]), bundle, change)).toBe("done");
    expect(sent).toEqual(["7", "8", "9"]);
  });

  it("is overtaken in the end, and gives up at once for other faults", async () => {
    for (const [fault, tries, want] of [[changed(), 5, Overtaken], [new ApiError(409, "of another source", [], 9), 1, ApiError], [new ApiError(403, "no"), 1, ApiError]] as const) {
      let sent = 0;
      const change = () => (sent++, Promise.reject(fault));
      await expect(unlessOvertaken(read(["a", "7"]), bundle, change)).rejects.toThrow(want);
      expect(sent).toBe(tries);
    }
  });
});

describe("what the editor has read", () => {
  afterEach(() => vi.unstubAllGlobals());

  const planned = (result: string) => vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ outcomes: [{ result }] })));

  it("is read again after a change, so that the next one is guarded too", async () => {
    planned("RESULT_UNCHANGED");
    reading.value = read(["a", "7"], ["mine", "8"]);
    await applyRead(bundle, () => Promise.resolve());
    expect([reading.value?.text, reading.value?.revision]).toEqual([manifest("mine"), "8"]);
  });

  it("is not what others make of it right after a change", async () => {
    planned("RESULT_UPDATED");
    reading.value = read(["a", "7"], ["theirs", "9"]);
    await applyRead(bundle, () => Promise.resolve());
    await expect(applyRead(bundle, () => Promise.resolve())).rejects.toThrow(Overtaken);
  });

  it("stays while another object is changed", async () => {
    const before = (reading.value = read(["theirs", "9"]));
    await applyRead(manifest("x", "other"), () => Promise.resolve());
    expect(reading.value).toBe(before);
  });

  it("stays after a change that fails", async () => {
    const before = (reading.value = read(["b", "7"]));
    await expect(applyRead(bundle, () => Promise.resolve())).rejects.toThrow(Overtaken);
    expect(reading.value).toBe(before);
  });

  it("goes with the user", async () => {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(null, { status: 204 })));
    reading.value = read(["a", "7"]);
    session.value = { name: "admin", role: "admin", via: "session", can: [], live: true };
    await signOut();
    expect(reading.value).toBeNull();
  });
});
