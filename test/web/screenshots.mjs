// Takes the pictures of docs/screenshots, in both themes and on two screens.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { act, call, story, write } from "./steps.mjs";

const { LINK, SCREENSHOTS, WATCH = "30" } = process.env;
const pods = readFileSync("screenshots.yaml", "utf8");
const dearer = (text) => text.replace("tier: front", "tier: shop").replace("currency: EUR", "currency: CHF");

await story(async ({ page, origin, step }) => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  let size = "";
  /** picture takes a page in both themes, after prepare. */
  const picture = (name, path, prepare = async () => {}) =>
    step(`${size}${name}`, async () => {
      if (path !== null) {
        await page.goto(`${origin}/ui/${path}`);
        await page.locator("h1").first().waitFor();
      }
      await prepare();
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.mouse.move(0, 0); // where the pointer hovers over nothing
        await page.waitForTimeout(300);
        await page.screenshot({ path: join(SCREENSHOTS, `${size}${name}-${theme}.png`) });
      }
    });
  const press = (name) => page.getByRole("button", { name }).first().click();
  const tab = (name) => page.getByRole("link", { name, exact: true }).first().click();

  const all = async () => {
    await picture("node", "", () => page.getByRole("img", { name: /^Memory: now/ }).first().waitFor());
    await picture("pods", "pods", () => page.getByText("nightly-report").first().waitFor());
    await picture("pod", "pods/default/shop", () => page.getByRole("img", { name: /^CPU: now/ }).first().waitFor());
    await picture("record", "pods/default/billing/record", () => page.getByRole("img", { name: /^Memory on record: now/ }).waitFor());
    await picture("events", "pods/default/shop/events");
    await picture("yaml", "pods/default/shop/yaml");
    await picture("logs", "pods/default/shop/logs?c=front,cache");
    await picture("groups", "pods?group=app", () => page.locator(".row.group").first().waitFor());
    await picture("logs-around", "logs?pods=app%3Dshop&q=warn&around=3", async () => {
      await page.locator(".log-row.beside").first().waitFor();
      await press("Wrap");
    });
    await press("Wrap");
    await picture("nodes", "nodes", () => page.getByRole("row", { name: /^edge-2 far/ }).waitFor());
    await picture("other-node", "at/edge-2/pods/default/far", () => page.getByRole("note").waitFor());
    await picture("images", "images", () => act(page));
    await picture("objects", "objects", () => page.getByText("shop-settings").first().waitFor());
    await picture("tokens", "tokens", () => act(page));
    await picture("object", "objects/secrets/default/shop-login", () => press("Show"));
    await picture("terminal", "pods/default/shop", async () => {
      await act(page);
      await tab("Terminal");
      await press("Open");
      await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
      await page.keyboard.type("ls -l /; cat /proc/loadavg; ps\n");
    });
    await picture("debug", "pods/default/shop/terminal", async () => {
      await act(page);
      await press("Debug…");
      await page.getByRole("dialog").getByText(/^kubectl debug/).waitFor();
    });
    await picture("apply", "pods", async () => {
      await act(page);
      await tab("Apply");
      await write(page, dearer(pods));
      await page.locator(".diff .new").first().waitFor();
    });
  };

  await page.goto(LINK);
  await page.locator("h1").first().waitFor();
  await page.setViewportSize({ width: 1280, height: 760 });
  await call(page, "POST", "/v1/manifests", pods);
  await page.waitForTimeout(Number(WATCH) * 1000); // until the usage chart has a line
  await all();
  await picture("usage", "pods/default/shop", () => page.getByRole("heading", { name: "Containers" }).scrollIntoViewIfNeeded().then(() => page.mouse.wheel(0, 520)));
  await picture("commands", "pods/default/shop/yaml", () => press("Other clients").then(() => press("API")));
  await press("Other clients");
  await picture("delete", "pods/default/shop", () => act(page).then(() => press("Delete…")));
  await picture("why", "pods/default/billing/record", () => page.getByRole("button", { name: /^Why did/ }).first().click().then(() => page.locator(".ticket").waitFor()));
  await picture("selected", "pods", async () => {
    await act(page);
    for (const name of ["billing", "search"]) await page.getByLabel(`Select ${name}`).check();
    await page.getByRole("toolbar").getByRole("button", { name: "Delete…" }).click();
  });
  await picture("several-logs", "logs?pods=app%3Dshop&level=warn", () => page.locator(".log-row").nth(5).waitFor());
  await picture("prune", "images", () => act(page).then(() => press("Prune…")));
  await picture("progress", "pods", async () => {
    await act(page);
    await tab("Apply");
    await write(page, dearer(pods));
    await page.locator(".diff .new").first().waitFor();
    await press(/^Apply/);
    await page.getByRole("heading", { name: "Applied" }).waitFor();
  });
  await picture("roll-back", null, () => press(/^Roll back/));
  await call(page, "POST", "/v1/manifests", pods);
  await page.setViewportSize({ width: 390, height: 780 });
  size = "small-";
  await all();
  await picture("sign-in", "", async () => {
    await press("Sign out");
    await page.getByRole("heading", { name: "Sign in to this node" }).waitFor();
  });
  size = "";
  await page.setViewportSize({ width: 1280, height: 760 });
  await picture("sign-in", "");
});
