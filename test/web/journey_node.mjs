// What a user does with several pods and with the node itself.
import { readFileSync } from "node:fs";
import { accessible, act, call, eventually, expect, story } from "./steps.mjs";

const { LINK, IMAGE, TARBALL } = process.env;

await story(async ({ page, step }) => {
  await step("the list of pods is empty at first", async () => {
    await page.goto(LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await act(page);
    await page.getByRole("link", { name: "Pods" }).click();
    await page.getByText("This node has no pods yet.").waitFor();
  });

  await step("several pods are selected and deleted, with a list of what goes", async () => {
    const idle = (name) => `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  terminationGracePeriodSeconds: 0\n  containers: [{name: main, image: "nodal.test/none:1", imagePullPolicy: Never}]\n  volumes: [{name: scratch, emptyDir: {}}]\n`;
    for (const name of ["left", "right"]) await call(page, "POST", "/v1/manifests", idle(name));
    await page.getByLabel("Select right").check();
    await page.getByRole("toolbar", { name: "Selected pods" }).getByText("1 selected").waitFor();
    await page.getByLabel("Select left").check();
    await page.getByRole("toolbar", { name: "Selected pods" }).getByText("2 selected").waitFor();
    await page.getByRole("toolbar", { name: "Selected pods" }).getByRole("button", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("listitem").filter({ hasText: "left" }).getByText("with what it wrote into scratch").waitFor();
    await accessible(page, "the plan to delete several pods");
    await dialog.getByRole("button", { name: "Delete 2 pods" }).click();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText("This node has no pods yet.").waitFor();
  });

  await step("events are found by kind and words, which the address holds", async () => {
    await page.getByRole("link", { name: "Node", exact: true }).click();
    await page.getByRole("link", { name: /^All \d+, with a search$/ }).click();
    await page.getByLabel("Search the events").fill("left");
    await page.getByLabel("Kind").selectOption("Warnings");
    const rows = page.locator(".events .event");
    await rows.filter({ hasText: "left" }).first().waitFor();
    await eventually("the events are", () => rows.allInnerTexts(), (all) => all.length > 0 && all.every((text) => /left/.test(text)));
    const { searchParams } = new URL(page.url());
    expect(searchParams.get("q") === "left" && searchParams.get("kind") === "warning", `the address is ${page.url()}`);
    await accessible(page, "the events");
  });

  await step("the node is cordoned with a reason, and takes pods again", async () => {
    await page.getByRole("link", { name: "Node", exact: true }).click();
    await page.getByRole("button", { name: "Cordon…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("a new disk");
    await dialog.getByText(/"reason":"a new disk"/).waitFor(); // in the command that does the same
    await dialog.getByRole("button", { name: "Cordon the node" }).click();
    await page.getByRole("region", { name: "Cordon" }).getByText("a new disk").waitFor();
    await page.getByText("Cordoned", { exact: true }).waitFor();
    await accessible(page, "a cordoned node");
    await page.getByRole("button", { name: "Uncordon…" }).click();
    await page.getByRole("button", { name: "Uncordon the node" }).click();
    await page.getByText("Cordoned", { exact: true }).waitFor({ state: "detached" });
  });

  await step("what has no use any more is listed before it goes", async () => {
    await page.getByRole("heading", { name: "Garbage" }).waitFor();
    await page.getByText("What the node keeps of them").click();
    await page.locator(".garbage-list").first().or(page.getByText("The node keeps no logs now.")).waitFor();
    await page.getByText("What has no use any more").click();
    const image = page.locator(".garbage-list tr", { hasText: IMAGE });
    await image.getByText("no container and no pod uses it").waitFor();
    await image.getByText(/stays: it was first seen less than .* ago|stays: the images' disk is/).waitFor();
    await accessible(page, "the garbage");
  });

  await step("plugins and devices are shown", async () => {
    await page.getByText("GPUs and other devices that pods can have").click();
    const gpu = page.locator("tr", { hasText: "nodal.test/gpu" });
    await gpu.getByText("CDI nodal.test/gpu, 2 shares each").waitFor();
    await gpu.getByText("2 of 2").waitFor();
    await page.getByText("1 resource of devices, 0 plugins in the registry").waitFor();
    await page.getByText("No container has CPUs, memory or devices for itself alone.").waitFor();
    await accessible(page, "the devices");
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
  });

  await step("the logs of the machine are read", async () => {
    await page.getByText("Of the agent, the runtime, the kernel").click();
    await page.getByRole("searchbox", { name: "Lines that match" }).fill("msg=started");
    await page.locator(".node-log").getByText("msg=started").waitFor();
    await accessible(page, "a log of the machine");
  });

  await step("unused images are pruned", async () => {
    await page.getByRole("link", { name: "Images" }).click();
    await page.getByRole("button", { name: "Prune…" }).click();
    await page.locator(".prune").getByText(IMAGE).waitFor();
    await accessible(page, "the plan to prune");
    await page.getByRole("button", { name: /^Remove 1 image, / }).click();
    await page.getByRole("heading", { name: /^Removed 1 image, / }).waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("rowheader", { name: new RegExp(IMAGE) }).waitFor({ state: "detached" });
  });

  await step("changes by other clients show when the page becomes visible", async () => {
    const image = page.getByRole("rowheader", { name: new RegExp(IMAGE) });
    const comeBack = () => page.evaluate(() => dispatchEvent(new Event("focus")));
    await call(page, "POST", "/v1/images:import", readFileSync(TARBALL));
    await comeBack();
    await image.waitFor();
    await call(page, "DELETE", `/v1/images?image=${encodeURIComponent(IMAGE)}`);
    await comeBack();
    await image.waitFor({ state: "detached" });
  });

  await step("a token is made, shown once, used and revoked", async () => {
    const opens = (secret, path) => page.evaluate(async ([secret, path]) => (await fetch(path, { credentials: "omit", headers: { Authorization: `Bearer ${secret}` } })).status, [secret, path]);
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("rowheader", { name: /^viewer/ }).waitFor();
    await accessible(page, "the tokens");
    await page.getByRole("button", { name: "Create…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("ci");
    await dialog.getByLabel("Namespaces").fill("dev, test");
    await dialog.getByLabel("Role").selectOption("admin");
    expect((await dialog.getByLabel("Namespaces").count()) === 0, "an admin's token can be narrowed");
    await dialog.getByLabel("Role").selectOption("operator");
    await dialog.getByLabel("Ends after").selectOption("1 hour");
    await dialog.getByText(/"lifetime":"3600s"/).waitFor(); // in the command that does the same
    await accessible(page, "the form for a token");
    await dialog.getByRole("button", { name: "Create the token" }).click();
    const secret = await dialog.locator(".secret").innerText();
    expect(/^nodal_[\w-]{40,}$/.test(secret), `the secret is ${secret}`);
    await accessible(page, "a new token");
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.locator("tr", { hasText: /ci\s*made .* by [\s\S]*operator\s*dev, test\s*in (1h|5\dm)/ }).waitFor();
    expect(!(await page.content()).includes(secret), "the secret is still on the page");
    expect((await opens(secret, "/v1/namespaces/dev/pods")) === 200, "the token does not open its namespace");
    expect((await opens(secret, "/v1/namespaces/default/pods")) === 403, "the token opens another namespace");
    await page.getByRole("button", { name: "Create…" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill("ci");
    await dialog.getByRole("button", { name: "Create the token" }).click();
    await dialog.getByText(/there is one already/).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Revoke ci…" }).click();
    await dialog.getByText("It cannot be brought back.").waitFor();
    await dialog.getByRole("button", { name: "Revoke the token" }).click();
    await page.getByRole("rowheader", { name: /^ci/ }).waitFor({ state: "detached" });
    expect((await opens(secret, "/v1/namespaces/dev/pods")) === 401, "the revoked token opens the node");
  });
});
