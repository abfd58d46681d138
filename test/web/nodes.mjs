// Two nodes in one window: the second is read through the first.
import { readFileSync } from "node:fs";
import { accessible, act, ask, eventually, expect, story } from "./steps.mjs";

const { LINK, FAR_TOKEN } = process.env;

await story(async ({ page, origin, step }) => {
  const secret = readFileSync(FAR_TOKEN, "utf8").trim();
  const leaks = [];
  page.on("response", async (answer) => {
    if (!answer.url().includes("/ui/at")) return;
    const body = answer.url().includes("watch") ? "" : await answer.text().catch(() => "");
    const asked = JSON.stringify(answer.request().headers());
    if ([body, asked, JSON.stringify(answer.headers())].some((text) => text.includes(secret))) leaks.push(answer.url());
  });

  await step("the nodes stand in one list, with the pods of all of them", async () => {
    await ask("introduce");
    await page.goto(LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await act(page);
    await page.getByRole("link", { name: "Nodes" }).click();
    await page.getByRole("heading", { name: "Nodes", exact: true }).waitFor();
    await page.getByRole("row", { name: /^node-a Ready/ }).waitFor();
    await page.getByRole("row", { name: /^edge-2 Not ready/ }).waitFor();
    await page.getByRole("row", { name: /^edge-2 far/ }).waitFor();
    await accessible(page, "the nodes");
    await page.setViewportSize({ width: 390, height: 780 });
    await accessible(page, "the nodes on a phone");
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(over <= 0, `the nodes are ${over} px wider than a phone`);
    await page.setViewportSize({ width: 1360, height: 850 });
  });

  await step("a pod of another node is shown as a viewer sees it, and nothing can be done to it", async () => {
    await page.getByRole("link", { name: "far", exact: true }).click();
    await page.waitForURL(`${origin}/ui/at/edge-2/pods/default/far`);
    await page.getByRole("heading", { name: "default/far" }).waitFor();
    await page.getByRole("note").getByText(/You see edge-2 through/).waitFor();
    await page.getByRole("link", { name: "Open it itself, to act" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    expect((await page.getByRole("button", { name: "Read-only" }).count()) === 0, "one can act on another node");
    await page.getByRole("link", { name: "YAML" }).click();
    await page.getByText("[hidden from viewers]").waitFor();
    expect(!(await page.content()).includes("sesame"), "a value is shown that is not for viewers");
    await accessible(page, "a pod of another node");
    const refused = await page.evaluate(async () => (await fetch("/ui/at/edge-2/v1/namespaces/default/pods/far", { method: "DELETE" })).status);
    expect(refused === 405, `a deletion through this node is answered with ${refused}`);
  });

  await step("what happens there is shown at once", async () => {
    await page.getByRole("link", { name: /^Pods/ }).click();
    await page.waitForURL(`${origin}/ui/at/edge-2/pods`);
    await page.getByRole("row", { name: /far/ }).waitFor();
    await ask("settle");
    await page.getByRole("row", { name: /later/ }).waitFor();
  });

  await step("a node that does not answer is named, and the others stay", async () => {
    await ask("vanish");
    await page.getByRole("link", { name: "All nodes" }).click();
    await page.waitForURL(`${origin}/ui/nodes`);
    await page.getByRole("row", { name: /^edge-2 No answer.*connection refused/ }).waitFor();
    await page.getByRole("row", { name: /^node-a Ready/ }).waitFor();
    await accessible(page, "a node that does not answer");
    await page.getByRole("link", { name: "edge-2", exact: true }).click();
    await page.getByRole("heading", { name: "edge-2 cannot be read" }).waitFor();
    await accessible(page, "another node that cannot be read");
  });

  await step("the browser has never got the token of the other node", () => eventually("it got it from", () => leaks, (all) => all.length === 0));
});
