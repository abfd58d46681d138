import { effect } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { revokeToken } from "../../src/pure/calls";
import { bodyOf, endOf, scopeOf, usedOf, type Wanted } from "../../src/pure/tokens";
import { acting, canAdmin, isAdmin, session } from "../../src/state/session";
import { keepTokens, readTokens, tokens, tokensProblem } from "../../src/state/tokens";

const now = Date.parse("2026-05-01T12:00:00Z");

describe("what is said of a token", () => {
  it.each([
    ["one without an end", {}, "never"],
    ["one that ends", { expiresAt: "2026-05-01T14:00:00Z" }, "in 2h\u00a00m"],
    ["one that has ended by the browser's clock alone", { expiresAt: "2026-05-01T11:00:00Z" }, "in 0s"],
    ["one that has expired", { expiresAt: "2026-05-01T11:00:00Z", expired: true }, "expired"],
  ])("%s", (_, token, want) => expect(endOf(token, now)).toBe(want));
  it.each([
    ["no known use", {}, "not known"],
    ["a use in this minute", { lastUsedAt: "2026-05-01T11:59:00Z" }, "just now"],
    ["an earlier use", { lastUsedAt: "2026-05-01T09:00:00Z" }, "3h\u00a00m ago"],
  ])("%s", (_, token, want) => expect(usedOf(token, now)).toBe(want));
  it("names the namespaces, or that there is no bound", () => {
    expect(scopeOf({ namespaces: ["dev", "test"] })).toBe("dev, test");
    expect(scopeOf({ namespaces: [] })).toBe("the whole node");
  });
});

describe("the request for a token", () => {
  const wanted: Wanted = { name: " ci ", role: "operator", namespaces: "", seconds: 3600 };
  it.each([
    ["with an end", wanted, { name: "ci", role: "operator", lifetime: "3600s" }],
    ["without an end", { ...wanted, seconds: 0 }, { name: "ci", role: "operator" }],
    ["narrowed, in the ways in which people write lists", { ...wanted, seconds: 0, namespaces: " dev, test\tprod," }, { name: "ci", role: "operator", namespaces: ["dev", "test", "prod"] }],
    ["of an admin, whose field for namespaces has gone", { ...wanted, seconds: 0, role: "admin", namespaces: "dev" }, { name: "ci", role: "admin" }],
  ] as Array<[string, Wanted, object]>)("%s", (_, from, want) => expect(bodyOf(from)).toEqual(want));
  it("names one token in a path, whatever its characters", () => {
    expect(revokeToken("a@b/c").path).toBe("/v1/tokens/a%40b%2Fc");
  });
});

describe("the list of tokens", () => {
  const soon = () => new Promise((done) => setTimeout(done));
  let asked: string[];

  beforeEach(() => {
    asked = [];
    vi.stubGlobal("document", Object.assign(new EventTarget(), { hidden: false }));
    vi.stubGlobal("window", new EventTarget());
    vi.stubGlobal("fetch", async (path: string) => {
      asked.push(path);
      return Response.json({ tokens: [{ id: String(asked.length), name: "ci" }] });
    });
    session.value = { name: "a", role: "admin", via: "session", can: ["read", "write", "exec", "admin"], live: true };
    tokens.value = null;
    tokensProblem.value = "";
  });
  afterEach(() => void vi.unstubAllGlobals());

  it("is an admin's alone, and never the read-only port's", () => {
    acting.value = true;
    expect([isAdmin.value, canAdmin.value]).toEqual([true, true]);
    for (const other of [{ can: ["read", "write", "exec"] as const, live: true }, { can: ["read", "admin"] as const, live: false }]) {
      session.value = { ...session.value!, can: [...other.can], live: other.live };
      const stop = effect(keepTokens);
      expect([isAdmin.value, canAdmin.value]).toEqual([false, false]);
      stop();
    }
    expect(asked).toEqual([]);
    acting.value = false;
  });
  it("is read when the page opens and when it becomes visible", async () => {
    const stop = effect(keepTokens);
    document.dispatchEvent(new Event("visibilitychange"));
    await soon();
    expect(asked).toEqual(["/v1/tokens", "/v1/tokens"]);
    expect(tokens.value?.map((one) => one.id)).toEqual(["2"]);
    stop();
    window.dispatchEvent(new Event("focus"));
    expect(asked).toHaveLength(2);
  });
  it("goes with the right to read it, and a late answer does not bring it back", async () => {
    await readTokens();
    expect(tokens.value).toHaveLength(1);
    const late = readTokens();
    session.value = { ...session.value!, can: ["read"] };
    expect(tokens.value).toBeNull();
    await late;
    expect(tokens.value).toBeNull();
  });
});
