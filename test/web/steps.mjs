// The steps that all stories share.
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const axe = readFileSync(new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** ask makes the test do something with the node. */
export async function ask(wish) {
  console.log(`@${wish}`);
  await lines.next();
}

const connections = new Set();

/** enter makes an address lead through a door, inside a network that has nothing but loopback. */
async function enter(address, door) {
  const server = createServer((inside) => {
    const outside = connect(door);
    for (const [one, other] of [[inside, outside], [outside, inside]]) {
      connections.add(one);
      one.pipe(other);
      one.on("error", () => {}); // close follows
      one.on("close", () => connections.delete(one) && other.destroy());
    }
  });
  await new Promise((done) => server.listen(Number(address.port), address.hostname, done));
}

/** cut ends every connection, as Chromium does when an interface comes or goes. */
export const cut = () => connections.forEach((c) => c.destroy());

export const expect = (is, words) => {
  if (!is) throw new Error(words);
};

/** patience bounds one wait on a busy machine. */
const patience = 60_000; // ms

/**
 * eventually reads until right accepts the value, and returns that value. A page gets its data in
 * several ways and paints when it has time, so one element does not show that another is ready.
 */
export async function eventually(words, read, right = Boolean) {
  for (const end = Date.now() + patience; ; ) {
    const got = await read();
    if (right(got)) return got;
    if (Date.now() > end) throw new Error(`${words}: ${typeof got === "string" ? got : JSON.stringify(got)}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/**
 * best measures up to five times until there is no problem. A busy machine is idle at times; a slow
 * page never is fast.
 */
export async function best(turn) {
  for (let left = 4; ; left--) {
    const problems = (await turn()).filter(Boolean);
    if (problems.length === 0) return;
    if (left === 0) throw new Error(problems.join("; "));
  }
}

/**
 * story opens a browser, tells the story, and exits with its result. Each part of it is a step;
 * after a failed step it stops.
 */
export async function story(tell) {
  const address = new URL(process.env.LINK);
  const view = new URL(process.env.VIEW);
  execFileSync("ip", ["link", "set", "lo", "up"]);
  await enter(address, process.env.DOOR);
  await enter(view, process.env.VIEW_DOOR);
  const { context, page, wrong } = await browser(address.origin, view.origin);
  let failed = false;
  const step = async (name, does) => {
    const from = Date.now();
    try {
      await does();
      console.log(`ok   ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
    } catch (error) {
      throw Object.assign(error, { step: name });
    }
  };
  try {
    await tell({ context, page, origin: address.origin, step });
    await step("no unexpected request was made, and no error occurred", () => expect(wrong.length === 0, wrong.join("\n")));
  } catch (error) {
    failed = true;
    console.log(`FAIL ${error.step ?? "between the steps"}: ${inOneLine(error)}\n${error.stack}`);
    if (process.env.KEEP) await page.screenshot({ path: process.env.KEEP }).catch(() => {});
    console.log(`the page shows:\n${(await page.locator("body").innerText().catch(() => "")).slice(0, 1500)}\n${wrong.join("\n")}`);
  }
  await context.close();
  process.exit(failed ? 1 : 0);
}

/** inOneLine returns an error and the place in the story where it happened. */
function inOneLine({ message, stack }) {
  const plain = message.replace(/\x1b\[\d*m/g, "").replace(/\s+/g, " ").slice(0, 600);
  const place = [...stack.matchAll(/(\w+\.mjs:\d+):\d+/g)].map((found) => found[1]).find((at) => !at.startsWith("steps.mjs"));
  return place ? `${plain} (${place})` : plain;
}

/** browser opens Chromium with its own profile, and records what must not happen. */
export async function browser(...origins) {
  const own = [...origins, ...origins.map((origin) => origin.replace("https", "wss"))];
  const context = await chromium.launchPersistentContext(process.env.PROFILE, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    timeout: 2 * patience,
    ignoreHTTPSErrors: true, // the node has its own authority
    viewport: { width: 1360, height: 850 },
    colorScheme: "light",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  context.setDefaultTimeout(patience);
  const wrong = [];
  const watch = (page) => {
    page.on("request", (request) => {
      if (!own.some((origin) => request.url().startsWith(origin))) wrong.push(`a request to ${request.url()}`);
    });
    page.on("pageerror", (error) => wrong.push(`an error in the page: ${error.stack}`));
    page.on("console", (message) => {
      // Stories include a node that is down, and refused requests. The policy also stops styles
      // that Chromium writes into edited text.
      const known = /Failed to load resource|WebSocket connection/.test(message.text()) || (page.url().includes("/ui/apply") && /Applying inline style/.test(message.text()));
      if (message.type() === "error" && !known) wrong.push(`on the console: ${message.text()} (${message.location().url})`);
    });
  };
  context.on("page", watch);
  context.pages().forEach(watch);
  return { context, page: context.pages()[0], wrong };
}

/** call sends a request with the page's rights, where the page itself is not under test. */
export async function call(page, method, path, data = "") {
  const { origin } = new URL(process.env.LINK);
  const answer = await page.request.fetch(origin + path, { method, data, headers: { "Content-Type": "application/yaml", Origin: origin } });
  expect(answer.ok(), `${method} ${path}: ${await answer.text()}`);
}

/**
 * paste runs a command of the page as it is shown, with its certificate and token, and returns the
 * output.
 */
export async function paste(command) {
  const { VIEWER_TOKEN, PROFILE } = process.env;
  const credentials = dirname(VIEWER_TOKEN);
  copyFileSync(join(credentials, "../pki/ca.crt"), join(PROFILE, "ca.crt"));
  const env = { ...process.env, TOKEN: readFileSync(join(credentials, "admin.token"), "utf8").trim() };
  const running = promisify(execFile)("bash", ["-ec", command], { cwd: PROFILE, env, timeout: 60_000 });
  running.child.stdin.end(); // no command may ask for input
  return (await running).stdout;
}

/** act leaves the read-only mode. */
export const act = (page) => page.getByRole("button", { name: "Read-only" }).click();

/** signOut waits for the node's answer: a late answer would remove the next session's cookie. */
export async function signOut(page) {
  const known = page.waitForResponse((response) => response.request().method() === "DELETE" && response.url().endsWith("/ui/session"));
  await Promise.all([known, page.getByRole("button", { name: "Sign out" }).click()]);
}

/** accessible checks the page against WCAG AA, in both themes unless others are given. */
export async function accessible(page, name, themes = ["light", "dark"]) {
  for (const theme of themes) {
    await page.evaluate((to) => (document.documentElement.dataset.theme = to), theme);
    await page.evaluate(axe);
    const found = async () => {
      const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
      return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 160)} ${n.any.map((a) => a.message).join(" ").slice(0, 200)}`));
    };
    // Elements that fade in have too little contrast at first.
    await eventually(`${name}, ${theme}`, async () => (await found()).slice(0, 12).join("\n"), (wrong) => wrong === "");
  }
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
}

/** write replaces the text in the editor. */
export async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}
