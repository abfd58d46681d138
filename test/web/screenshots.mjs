// Takes the README's pictures of a node: screenshots.mjs LINK DIRECTORY POD, with
// a link as `kubelet ui` prints it, and one pod to show in detail.
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

process.env.PROFILE = mkdtempSync(join(tmpdir(), "nodal-shots-"));
const { browser } = await import("./steps.mjs");

const [link, out, pod] = process.argv.slice(2);
const origin = new URL(link).origin;
const { context, page } = await browser(origin);
mkdirSync(out, { recursive: true });
await page.setViewportSize({ width: 1280, height: 760 });

async function picture(name, path, prepare = async () => {}) {
  if (path !== null) {
    await page.goto(`${origin}/ui/${path}`);
    await page.locator("h1").first().waitFor();
  }
  await prepare();
  for (const theme of ["light", "dark"]) {
    // By the page's own switch, which goes round.
    while ((await page.evaluate(() => document.documentElement.dataset.theme)) !== theme) await page.getByRole("button", { name: /^Theme/ }).click();
    await page.mouse.move(700, 740);
    await page.waitForTimeout(700);
    await page.screenshot({ path: join(out, `${name}-${theme}.png`) });
  }
}

const act = () => page.getByRole("button", { name: "Read-only" }).click();

await page.goto(link);
await page.locator("h1").first().waitFor();
await page.waitForTimeout(1000);
await picture("node", "");
await picture("pods", "pods");
await picture("pod", `pods/${pod}`);
await picture("logs", `pods/${pod}/logs`);
await picture("apply", `pods/${pod}`, async () => {
  await act();
  await page.getByRole("link", { name: "Edit…" }).click();
  await page.locator(".cm-content").getByText("kind").first().waitFor();
  const line = page.locator(".cm-line", { hasText: "tier: front" }).first();
  await line.click();
  await page.keyboard.press("End");
  await page.keyboard.type("end");
  await page.keyboard.press("Home");
  await page.locator(".diff").waitFor();
});
await picture("terminal", `pods/${pod}`, async () => {
  await act();
  await page.getByRole("link", { name: "Terminal" }).click();
  await page.getByRole("button", { name: "Open" }).click();
  await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
  await page.keyboard.type("ls -l /; cat /proc/loadavg; ps\n");
});
await context.close();
