import { effect } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watch } from "../../src/api/watch";
import { linkOf, type Watching } from "../../src/pure/link";
import { watchPods } from "../../src/pure/calls";
import { follow, link } from "../../src/state/link";
import { events, keepUp, node, pods } from "../../src/state/live";
import { keepPulls, pulls } from "../../src/state/pulls";
import { session } from "../../src/state/session";

/** Served is the node's side of one request: the messages of an open stream, then its end. */
class Served {
  private to!: ReadableStreamDefaultController<Uint8Array>;
  readonly body = new ReadableStream<Uint8Array>({ start: (to) => void (this.to = to) });
  constructor(readonly path: string) {}

  send(message: object, event = "message"): void {
    this.to.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(message)}\n\n`));
  }

  cut(): void {
    this.to.error(new TypeError("network error"));
  }
}

describe("the page's watches", () => {
  let asked: Served[];
  let answer: (served: Served) => Response;
  const open = (path: string) => asked.filter((served) => served.path.startsWith(path));
  const soon = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

  beforeEach(() => {
    asked = [];
    answer = (served) => new Response(served.body);
    vi.useFakeTimers();
    vi.stubGlobal("window", new EventTarget());
    vi.stubGlobal("document", new EventTarget());
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 16));
    vi.stubGlobal("fetch", (path: string, { signal }: RequestInit) => {
      const served = new Served(path);
      asked.push(served);
      signal?.addEventListener("abort", () => served.cut());
      return Promise.resolve(answer(served));
    });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("resume after the last received revision, and report a new beginning", async () => {
    const told: string[] = [];
    const stop = watch<{ revision?: string; pod?: string }>("/v1/pods:watch", {
      begin: () => told.push("begin"),
      message: ({ pod }) => told.push(pod ?? ""),
      synced: () => told.push("synced"),
    });
    await soon();
    asked[0]!.send({ revision: "7", pod: "a" });
    asked[0]!.send({ type: "WATCH_TYPE_SYNCED", revision: "9" });
    await soon();
    asked[0]!.cut();
    await soon(200);
    expect(asked[1]!.path).toBe("/v1/pods:watch?sinceRevision=9");
    asked[1]!.send({ revision: "10", pod: "b" });
    await soon();
    answer = (served) => (served.path.includes("sinceRevision") ? new Response("{}", { status: 410 }) : new Response(served.body));
    asked[1]!.cut();
    await soon(200);
    asked.at(-1)!.send({ revision: "20", pod: "c" });
    await soon();
    expect(told).toEqual(["begin", "a", "synced", "b", "begin", "c"]);
    stop();
  });

  it("wait longer after each failure, but retry at once when another watch gets an answer", async () => {
    answer = () => new Response("busy", { status: 503 });
    const stops = ["/a", "/b"].map((path) => watch(path, { message() {} }));
    await soon(4000); // the pauses between the tries are 0.2, 0.5, 1 and 2 s
    expect(open("/a")).toHaveLength(5);
    await soon(2000);
    answer = (served) => (served.path === "/a" ? new Response(served.body) : new Response("busy", { status: 503 }));
    await soon(1700); // both have tried again, after 4 s
    const before = open("/b").length;
    open("/a").at(-1)!.send({});
    await soon();
    expect(open("/b")).toHaveLength(before + 1);
    stops.forEach((stop) => stop());
  });

  it("are tried again after a long silence of the node", async () => {
    const problems: unknown[] = [];
    const stop = watch("/v1/events:watch", { message() {}, down: (error) => problems.push(error) });
    await soon(40_200);
    expect(String(problems)).toBe("Error: The node has sent nothing for 40 seconds.");
    expect(asked).toHaveLength(2);
    stop();
  });

  it("show the node and lost watches, without polling the node", async () => {
    session.value = { name: "a", role: "viewer", via: "session", can: ["read"], live: true };
    const stop = keepUp();
    await soon();
    expect(asked.map((served) => served.path).sort()).toEqual(["/v1/events:watch", "/v1/node:watch", "/v1/pods:watch"]);
    expect(link.value.state).toBe("live");
    open("/v1/node")[0]!.send({ node: { name: "edge", runtime: { ready: true } } });
    open("/v1/pods")[0]!.send({ type: "WATCH_TYPE_ADDED", revision: "3", pod: { namespace: "default", name: "web", uid: "u" } });
    open("/v1/pods")[0]!.send({ type: "WATCH_TYPE_SYNCED", revision: "3" });
    await soon(16);
    expect([node.value?.name, [...pods.value.keys()]]).toEqual(["edge", ["default/web"]]);

    open("/v1/node")[0]!.send({ message: "the server stops" }, "error");
    await soon();
    expect(link.value).toMatchObject({ state: "lost", problem: "the server stops", old: ["the node itself"] });
    await soon(200);
    expect(open("/v1/node").map((served) => served.path)).toEqual(["/v1/node:watch", "/v1/node:watch"]);
    open("/v1/node")[1]!.send({ node: { name: "edge", runtime: { ready: false } } });
    await soon();
    expect(node.value?.runtime?.ready).toBe(false);
    expect(link.value).toMatchObject({ state: "live", old: [] });
    stop();
    await soon(60_000);
    expect(asked).toHaveLength(4);
    expect(link.value.state).toBe("connecting");
  });
});

describe("a port without watches", () => {
  const viewer = { name: "a", role: "viewer", via: "anonymous", can: ["read" as const], live: false };
  let held: Array<() => void>;
  let stop = () => {};
  const soon = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
  beforeEach(() => {
    held = [];
    vi.useFakeTimers();
    vi.stubGlobal("fetch", () => new Promise((done) => held.push(() => done(Response.json({})))));
    session.value = viewer;
    stop = keepUp();
  });
  afterEach(() => {
    stop();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  const answer = () => held.forEach((done) => done());

  it("is polled after each answer, and reported as silent without one", async () => {
    await soon(9_000);
    expect([held.length, link.value.state]).toEqual([3, "connecting"]);
    await soon(1_000);
    expect(link.value).toMatchObject({ state: "lost", problem: "The node does not answer." });
    answer();
    await soon(2_999);
    expect([held.length, link.value.state]).toEqual([3, "live"]);
    await soon(1);
    expect(held).toHaveLength(6);
  });
  it("stops after a sign-out", async () => {
    const before = node.value;
    stop();
    answer();
    await soon(20_000);
    expect([held.length, link.value.state, node.value]).toEqual([3, "connecting", before]);
  });
});

describe("pulls", () => {
  afterEach(() => void vi.unstubAllGlobals());

  it("are polled until there are none, even after a failed request, and a late answer is ignored", async () => {
    vi.useFakeTimers();
    const held: Array<(response: Response | Error) => void> = [];
    vi.stubGlobal("fetch", () => new Promise((done, fail) => held.push((said) => (said instanceof Error ? fail(said) : done(said)))));
    const pulling = () => Response.json({ pulls: [{ reference: "a" }] });
    session.value = { name: "a", role: "viewer", via: "session", can: ["read"], live: true };
    events.value = [];
    const stop = effect(keepPulls);
    events.value = [{ reason: "Pulling", revision: "1" }];
    held[1]!(pulling());
    await vi.advanceTimersByTimeAsync(1000);
    held[2]!(new TypeError("network error"));
    await vi.advanceTimersByTimeAsync(1000);
    held[3]!(Response.json({}));
    await vi.advanceTimersByTimeAsync(0);
    held[0]!(pulling());
    await vi.advanceTimersByTimeAsync(10_000);
    expect([held.length, pulls.value.length]).toEqual([4, 0]);
    stop();
    vi.useRealTimers();
  });
});

describe("a watch that is refused", () => {
  afterEach(() => void vi.unstubAllGlobals());

  it("is not tried again, and is named", async () => {
    const asked = vi.fn(() => Promise.resolve(new Response(`{"message": "kim may not read"}`, { status: 403 })));
    vi.useFakeTimers();
    vi.stubGlobal("fetch", asked);
    const stop = follow("pods", watchPods(), { message: () => {} });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveBeenCalledOnce();
    expect(link.value).toMatchObject({ state: "refused", problem: "kim may not read", old: ["pods"] });
    stop();
    vi.useRealTimers();
  });
});

describe("linkOf", () => {
  const live: Watching = { state: "live", since: 1, problem: "" };
  const lost = (since: number): Watching => ({ state: "lost", since, problem: `since ${since}` });
  const cases: Array<[string, Array<[string, Watching]>, object]> = [
    ["connects before anything was heard", [], { state: "connecting", old: [] }],
    ["is live when all are", [["pods", live], ["events", live]], { state: "live", old: [] }],
    ["names what is old while the rest is not", [["pods", live], ["events", lost(5)], ["usage", lost(4)]], { state: "lost", since: 4, problem: "since 4", old: ["usage", "events"] }],
    ["names what is refused while the rest is live", [["pods", live], ["events", { ...lost(5), state: "refused" }]], { state: "refused", old: ["events"] }],
    ["names nothing when all is old", [["pods", lost(5)], ["events", lost(4)]], { state: "lost", since: 4, old: [] }],
  ];
  it.each(cases)("%s", (_, watches, want) => expect(linkOf(new Map(watches))).toMatchObject(want));
});
