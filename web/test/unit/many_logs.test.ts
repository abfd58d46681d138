import { describe, expect, it } from "vitest";
import type { Pod } from "../../src/api/gen";
import { podsFor, sourcesOf } from "../../src/pure/many_logs";

const pod = (name: string, app: string, containers = ["main"], namespace = "default"): Pod => ({
  namespace, name, uid: `u-${name}`,
  object: { metadata: { labels: { app } }, spec: { containers: containers.map((c) => ({ name: c, image: "i" })), initContainers: [{ name: "prepare" }] } },
});
const pods = [pod("web-2", "web"), pod("web", "web", ["main", "side"]), pod("db", "db"), pod("web", "web", ["main"], "prod")];
const named = (asked: string) => podsFor(asked, pods).map((p) => `${p.namespace}/${p.name}`);

describe("the pods of one log", () => {
  it("are found as in the list", () => expect(named("app=web")).toEqual(["default/web", "default/web-2", "prod/web"]));
  it("may be named one by one, and then no other of a longer name is meant", () => expect(named("default/web, default/db")).toEqual(["default/db", "default/web"]));
  it("need all words of a part, and one of the parts", () => expect(named("prod app=web, app=db")).toEqual(["default/db", "prod/web"]));
  it("are none if none is asked for", () => expect(named(" , ")).toEqual([]));
});

it("a line is told apart by its pod, and by its container if there are several", () => {
  expect(sourcesOf(podsFor("web", pods)).map((s) => s.label)).toEqual(["web main", "web side", "web-2", "prod/web"]);
});
