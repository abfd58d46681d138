// Takes the README's pictures of a node: screenshots.mjs LINK DIRECTORY POD, with
// a link as `kubelet ui` prints it, and one pod to show in detail.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

process.env.PROFILE = mkdtempSync(join(tmpdir(), "nodal-shots-"));
const { act, browser } = await import("./steps.mjs");

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

await page.goto(link);
await page.locator("h1").first().waitFor();
await page.waitForTimeout(Number(process.env.WATCH ?? 60) * 1000); // until usage is a line
await picture("node", null);
await picture("pods", "pods");
await picture("pod", `pods/${pod}`, () => page.getByRole("img", { name: /^CPU: now/ }).first().waitFor());
await picture("usage", null, () => page.getByRole("heading", { name: "Containers" }).scrollIntoViewIfNeeded().then(() => page.mouse.wheel(0, 520)));
await picture("images", "images", () => act(page));
await picture("objects", "objects");
await picture("logs", `pods/${pod}/logs`);
await picture("apply", `pods/${pod}`, async () => {
  await act(page);
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
  await act(page);
  await page.getByRole("link", { name: "Terminal" }).click();
  await page.getByRole("button", { name: "Open" }).click();
  await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
  await page.keyboard.type("ls -l /; cat /proc/loadavg; ps\n");
});
await page.setViewportSize({ width: 390, height: 780 });
await picture("small-node", "");
await picture("small-pod", `pods/${pod}`);
await context.close();
rmSync(process.env.PROFILE, { recursive: true });
