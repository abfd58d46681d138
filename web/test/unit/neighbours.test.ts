import { afterEach, expect, it, vi } from "vitest";
import { hasNeighbours, neighbours, neighboursProblem, readNeighbours } from "../../src/state/neighbours";

afterEach(() => vi.unstubAllGlobals());

async function listed(answer: () => Promise<Response>) {
  vi.stubGlobal("fetch", answer);
  await readNeighbours();
  return [hasNeighbours.value, neighbours.value.map(({ name }) => name).join(), neighboursProblem.value];
}

const says = (code: number, body: object) => () => Promise.resolve(new Response(JSON.stringify(body), { status: code }));
const nodes = (...names: string[]) => says(200, { nodes: names.map((name) => ({ name, url: `https://${name}:10250` })) });

it("shows a file of nodes that cannot be used, and what others list only to those who may see it", async () => {
  expect(await listed(nodes())).toEqual([false, "", ""]);
  expect(await listed(says(409, { message: "read --nodes-file: gone" }))).toEqual([true, "", "read --nodes-file: gone"]);
  expect(await listed(nodes("edge-2"))).toEqual([true, "edge-2", ""]);
  expect(await listed(() => Promise.reject(new TypeError("network error")))).toEqual([true, "edge-2", ""]);
  expect(await listed(says(403, { message: "not yours" }))).toEqual([false, "", ""]);
});
