// The words that the story is told in.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const axe = readFileSync(new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** ask has the test do something with the node. */
export async function ask(wish) {
  console.log(`@${wish}`);
  await lines.next();
}

let failures = 0;

/** step tells how long a part of the story took, and goes on after one that failed only if it says so. */
export async function step(name, tell) {
  const from = Date.now();
  try {
    await tell();
    console.log(`ok   ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failures++;
    console.log(`FAIL ${name}: ${error.stack ?? error}`);
    throw error;
  }
}

export const expect = (is, words) => {
  if (!is) throw new Error(words);
};

/** browser opens Chromium with a profile of its own, and notes what should not happen. */
export async function browser(origin) {
  const context = await chromium.launchPersistentContext(process.env.PROFILE, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    ignoreHTTPSErrors: true, // the node's own authority
    viewport: { width: 1360, height: 850 },
    colorScheme: "light",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  context.setDefaultTimeout(30_000);
  const wrong = [];
  const watch = (page) => {
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith(origin.replace("https", "wss"))) wrong.push(`a request to ${request.url()}`);
    });
    page.on("pageerror", (error) => wrong.push(`an error in the page: ${error.stack}`));
    page.on("console", (message) => {
      // That the node is away, or says no, is part of the story. And Chromium
      // writes styles of its own into what is edited, which the policy stops.
      const own = /Failed to load resource|WebSocket connection/.test(message.text()) || (page.url().includes("/ui/apply") && /Applying inline style/.test(message.text()));
      if (message.type() === "error" && !own) wrong.push(`on the console: ${message.text()} (${message.location().url})`);
    });
  };
  context.on("page", watch);
  context.pages().forEach(watch);
  return { context, page: context.pages()[0], wrong };
}

/**
 * visit is page.goto for a machine on which interfaces come and go with pods: Chromium
 * cuts every connection then, the one that brings the page included.
 */
export async function visit(page, url) {
  for (let turn = 1; ; turn++) {
    try {
      await page.goto(url);
      await page.locator("#app > *").first().waitFor({ timeout: 10_000 });
      return;
    } catch (error) {
      if (turn === 5) throw error;
      await page.goto("about:blank").catch(() => {}); // Chromium's own page about the error may still come
    }
  }
}

/** accessible holds the page to WCAG AA in both themes. */
export async function accessible(page, name) {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((to) => (document.documentElement.dataset.theme = to), theme);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
    const found = violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 160)} ${n.any.map((a) => a.message).join(" ").slice(0, 200)}`));
    expect(found.length === 0, `${name}, ${theme}:\n${found.slice(0, 12).join("\n")}`);
  }
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
}

/** write replaces what is in the editor. */
export async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

export const finish = () => process.exit(failures ? 1 : 0);
