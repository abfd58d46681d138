// The words that stories are told in.
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const axe = readFileSync(new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** ask has the test do something with the node. */
export async function ask(wish) {
  console.log(`@${wish}`);
  await lines.next();
}

const connections = new Set();

/** enter has an address in a network that has nothing but loopback lead through a door. */
async function enter(address, door) {
  const server = createServer((inside) => {
    const outside = connect(door);
    for (const [one, other] of [[inside, outside], [outside, inside]]) {
      connections.add(one);
      one.pipe(other);
      one.on("error", () => {}); // then it closes
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

/** patience is for one thing that is waited for, however busy the machine is. */
const patience = 60_000; // ms

/**
 * eventually reads until it is right, and returns that. What a page shows comes by
 * several ways and is painted when there is time: one thing of it is no sign of another.
 */
export async function eventually(words, read, right = Boolean) {
  for (const end = Date.now() + patience; ; ) {
    const got = await read();
    if (right(got)) return got;
    if (Date.now() > end) throw new Error(`${words}: ${typeof got === "string" ? got : JSON.stringify(got)}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** best measures up to five times until there is no problem: a machine that others use is quiet at times, and what has become slow never is fast. */
export async function best(turn) {
  for (let left = 4; ; left--) {
    const problems = (await turn()).filter(Boolean);
    if (problems.length === 0) return;
    if (left === 0) throw new Error(problems.join("; "));
  }
}

/**
 * story opens a browser, tells the story, and ends with whether it went well. Each
 * part of it is a step; after one that fails nothing is told.
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
    await step("nothing else was asked, and nothing went wrong", () => expect(wrong.length === 0, wrong.join("\n")));
  } catch (error) {
    failed = true;
    console.log(`FAIL ${error.step ?? "between the steps"}: ${inOneLine(error)}\n${error.stack}`);
    if (process.env.KEEP) await page.screenshot({ path: process.env.KEEP }).catch(() => {});
    console.log(`the page shows:\n${(await page.locator("body").innerText().catch(() => "")).slice(0, 1500)}\n${wrong.join("\n")}`);
  }
  await context.close();
  process.exit(failed ? 1 : 0);
}

/** inOneLine is what went wrong, and where in the story. */
function inOneLine({ message, stack }) {
  const plain = message.replace(/\x1b\[\d*m/g, "").replace(/\s+/g, " ").slice(0, 600);
  const place = [...stack.matchAll(/(\w+\.mjs:\d+):\d+/g)].map((found) => found[1]).find((at) => !at.startsWith("steps.mjs"));
  return place ? `${plain} (${place})` : plain;
}

/** browser opens Chromium with a profile of its own, and notes what should not happen. */
export async function browser(...origins) {
  const own = [...origins, ...origins.map((origin) => origin.replace("https", "wss"))];
  const context = await chromium.launchPersistentContext(process.env.PROFILE, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    timeout: 2 * patience,
    ignoreHTTPSErrors: true, // the node's own authority
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
      // That the node is away, or says no, is part of a story. And Chromium
      // writes styles of its own into what is edited, which the policy stops.
      const known = /Failed to load resource|WebSocket connection/.test(message.text()) || (page.url().includes("/ui/apply") && /Applying inline style/.test(message.text()));
      if (message.type() === "error" && !known) wrong.push(`on the console: ${message.text()} (${message.location().url})`);
    });
  };
  context.on("page", watch);
  context.pages().forEach(watch);
  return { context, page: context.pages()[0], wrong };
}

/** call asks the node with the page's rights, where the page is not what is looked at. */
export async function call(page, method, path, data = "") {
  const { origin } = new URL(process.env.LINK);
  const answer = await page.request.fetch(origin + path, { method, data, headers: { "Content-Type": "application/yaml", Origin: origin } });
  expect(answer.ok(), `${method} ${path}: ${await answer.text()}`);
}

/** paste runs a command of the page as it stands, with the certificate and the token that it wants, and returns what it says. */
export async function paste(command) {
  const { VIEWER_TOKEN, PROFILE } = process.env;
  const credentials = dirname(VIEWER_TOKEN);
  copyFileSync(join(credentials, "../pki/ca.crt"), join(PROFILE, "ca.crt"));
  const env = { ...process.env, TOKEN: readFileSync(join(credentials, "admin.token"), "utf8").trim() };
  const running = promisify(execFile)("bash", ["-ec", command], { cwd: PROFILE, env, timeout: 60_000 });
  running.child.stdin.end(); // none of them should ask
  return (await running).stdout;
}

/** act asks for what changes things. */
export const act = (page) => page.getByRole("button", { name: "Read-only" }).click();

/** signOut waits until the node knows: an answer that comes later would take the next session's cookie away. */
export async function signOut(page) {
  const known = page.waitForResponse((response) => response.request().method() === "DELETE" && response.url().endsWith("/ui/session"));
  await Promise.all([known, page.getByRole("button", { name: "Sign out" }).click()]);
}

/** accessible holds the page to WCAG AA, in both themes if it is not said otherwise. */
export async function accessible(page, name, themes = ["light", "dark"]) {
  for (const theme of themes) {
    await page.evaluate((to) => (document.documentElement.dataset.theme = to), theme);
    await page.evaluate(axe);
    const found = async () => {
      const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
      return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 160)} ${n.any.map((a) => a.message).join(" ").slice(0, 200)}`));
    };
    // What appears does so by and by, and has too little contrast until then.
    await eventually(`${name}, ${theme}`, async () => (await found()).slice(0, 12).join("\n"), (wrong) => wrong === "");
  }
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
}

/** write replaces what is in the editor. */
export async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}
