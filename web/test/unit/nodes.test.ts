import { describe, expect, it } from "vitest";
import type { Pod } from "../../src/api/gen";
import type { Wanted } from "../../src/pure/find";
import { atMost, podsOfAll, type Shown, standingOf, troubled } from "../../src/pure/nodes";

const pod = (name: string, more: Partial<Pod> = {}): Pod => ({ namespace: "default", name, phase: "POD_PHASE_RUNNING", ready: true, ...more });
const crashing = (name: string) => pod(name, { ready: false, reason: "CrashLoopBackOff" });
const shown = (name: string, ...pods: Pod[]): Shown => ({ name, base: `/ui/at/${name}`, node: { conditions: [{ type: "Ready", status: "True" }] }, pods, problem: "" });
const wanted = (text = ""): Wanted => ({ text, health: "", sort: "health", down: false });

describe("standingOf", () => {
  it.each<[string, Partial<Shown>, string]>([
    ["a node that answers is ready", {}, "Ready"],
    ["one that does not is in trouble, whatever it said before", { problem: "no route" }, "No answer"],
    ["one that was not heard yet is asked", { node: undefined }, "Asking" ],
    ["one that is not ready says so", { node: { conditions: [{ type: "Ready", status: "False", message: "no runtime" }] } }, "Not ready"],
    ["a shortage has its name", { node: { conditions: [{ type: "Ready", status: "True" }, { type: "DiskPressure", status: "True" }] } }, "DiskPressure"],
    ["a cordon is shown", { node: { cordon: { reason: "disk" } } }, "Cordoned"],
  ])("%s", (_, more, want) => expect(standingOf({ ...shown("a"), ...more }).words).toBe(want));
});

describe("podsOfAll", () => {
  const nodes = [shown("edge-1", pod("web"), crashing("db")), shown("edge-2", crashing("cart"), pod("web"))];
  const names = (text?: string) => podsOfAll(nodes, wanted(text), 0).map(({ node, pod: { name } }) => `${node}/${name}`);

  it("puts those in trouble first, of whichever node", () => expect(names()).toEqual(["edge-2/cart", "edge-1/db", "edge-1/web", "edge-2/web"]));

  it("finds words in pods and in the names of nodes", () => {
    expect(names("web")).toEqual(["edge-1/web", "edge-2/web"]);
    expect(names("edge-2")).toEqual(["edge-2/cart", "edge-2/web"]);
    expect(names("edge-2 web")).toEqual(["edge-2/web"]);
  });

  it("counts what is in trouble on each", () => expect(nodes.map(({ pods }) => troubled(pods, 0))).toEqual([1, 1]));
});

it("leads to the node of a pod, whatever its name", () => {
  const own = { ...shown("edge", pod("web")), base: "/ui" };
  expect(podsOfAll([own, shown("edge", pod("db"))], wanted(), 0).map(({ base, pod: { name } }) => `${base} ${name}`)).toEqual(["/ui/at/edge db", "/ui web"]);
});

it("runs so many tasks at a time, and all in the end", async () => {
  const inTurn = atMost(8);
  let running = 0;
  let most = 0;
  const task = async (i: number) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    if (i % 3 === 0) throw new Error("no answer");
    return i;
  };
  const all = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => inTurn(() => task(i))));
  expect([most, all.filter(({ status }) => status === "fulfilled").length]).toEqual([8, 26]);
});
