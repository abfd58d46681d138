import { describe, expect, it } from "vitest";
import { ApiError } from "../../src/api/request";
import { Overtaken, type Reading, unlessOvertaken } from "../../src/state/reading";

/** reading has these states, one at each look. */
function reading(...states: Array<[text: string, revision: string]>): Reading {
  const all = states.map(([text, revision]) => ({ text, revision }));
  return { name: "pod default/web", text: "a", revision: "1", again: () => Promise.resolve(all.length > 1 ? all.shift()! : all[0]!) };
}

describe("unlessOvertaken", () => {
  it("names the revision of the last look", async () => {
    expect(await unlessOvertaken(reading(["a", "7"]), (since) => Promise.resolve(since))).toBe("7");
  });

  it("names none where nothing was read", async () => {
    expect(await unlessOvertaken(null, (since) => Promise.resolve(`since ${since}`))).toBe("since ");
  });

  it("changes nothing if others have", async () => {
    let sent = 0;
    await expect(unlessOvertaken(reading(["b", "7"]), () => Promise.resolve(sent++))).rejects.toThrow(Overtaken);
    expect(sent).toBe(0);
  });

  it("looks again while only the status has changed", async () => {
    const sent: string[] = [];
    const change = (since: string) => {
      sent.push(since);
      return since === "9" ? Promise.resolve("done") : Promise.reject(new ApiError(409, "changed"));
    };
    expect(await unlessOvertaken(reading(["a", "7"], ["a", "8"], ["a", "9"]), change)).toBe("done");
    expect(sent).toEqual(["7", "8", "9"]);
  });

  it("gives up in the end, and at once for other faults", async () => {
    for (const [http, tries] of [[409, 5], [403, 1]] as const) {
      let sent = 0;
      const change = () => (sent++, Promise.reject(new ApiError(http, "no")));
      await expect(unlessOvertaken(reading(["a", "7"]), change)).rejects.toThrow("no");
      expect(sent).toBe(tries);
    }
  });
});
