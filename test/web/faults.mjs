// Errors and hostile input: the page stays whole, and its messages say what to do.
import { readFileSync } from "node:fs";
import { accessible, act, ask, call, cut, eventually, expect, signOut, story, write } from "./steps.mjs";

const { LINK, IMAGE, VIEWER_TOKEN } = process.env;
const many = Array.from({ length: 50 }, (_, i) => `c${i}`);
/** The pods of crowd need not start: the page looks the same, and half a minute is saved. */
const crowd = `apiVersion: v1
kind: Pod
metadata: {name: crowd}
spec:
  terminationGracePeriodSeconds: 0
  containers:
${many.map((name) => `  - {name: ${name}, image: "nodal.test/none:1", imagePullPolicy: Never}`).join("\n")}
`;

const html = "<img src=x onerror=document.title=1><script>document.title=2</script>";
const words = "Grüße żółw 日本語 עברית";
// In printf's notation, for a terminal: a title, a clipboard and a link. For a log: a colour, and
// characters that reverse the text.
const terminal = "\\033]0;title\\007\\033]52;c;aGk=\\007\\033]8;;javascript:document.title=3\\007press\\033]8;;\\007";
const turning = "\\033[31m\\342\\200\\256dne";
const sh = (script) => JSON.stringify(["sh", "-c", script]);
const hostile = (name) => `apiVersion: v1
kind: ConfigMap
metadata: {name: ${name}}
data: {page: ${JSON.stringify(html)}, words: ${JSON.stringify(words)}}
---
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  annotations: {example.org/words: ${JSON.stringify(`${words} ${html}`)}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: ${IMAGE}
    command: ${sh(`printf '${html}${terminal}${turning} ${words}' > /dev/termination-log; exit 3`)}
    env: [{name: WORDS, value: ${JSON.stringify(`${words} ${html}`)}}]
  - name: side
    image: ${IMAGE}
    command: ${sh(`printf '${html}${terminal}\\nover\\n' > /tmp/said; i=0; while true; do i=$((i+1)); echo tick $i; sleep 0.1; done`)}
`;

const twin = (command) => `apiVersion: v1
kind: Pod
metadata: {name: twin}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: ${IMAGE}, command: ${sh(command)}}]
`;

await story(async ({ context, page, origin, step }) => {
  const wire = await context.newCDPSession(page);
  const goTo = async (path, heading) => {
    await page.goto(`${origin}/ui/${path}`);
    await page.getByRole("heading", { name: heading }).first().waitFor();
  };
  const harmless = async (where) => {
    await eventually(`${where}: the title stays`, () => page.title(), (title) => title.endsWith("node-a"));
    expect((await page.locator("main img, main script").count()) === 0, `${where}: HTML of a container is in the page`);
  };

  await step("a pod of fifty containers is shown whole", async () => {
    await page.goto(LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await call(page, "POST", "/v1/manifests", crowd);
    await goTo("pods/default/crowd", "default/crowd");
    await page.getByText("0/50 ready").waitFor();
    await page.locator(".container", { hasText: "ErrImageNeverPull" }).nth(49).waitFor();
    await accessible(page, "the crowd");
    await page.getByRole("link", { name: "Logs" }).first().click();
    await page.getByRole("button", { name: "c49", exact: true }).click();
    await page.locator(".log-problem, .nothing").first().waitFor();
    await call(page, "DELETE", "/v1/namespaces/default/pods/crowd");
  });

  await step("a mistake in the directory of manifests shows first", async () => {
    await goTo("", "node-a");
    await page.locator(".conditions li", { hasText: /^Ready True/ }).waitFor();
    await ask("spoil");
    await page.getByRole("region", { name: "Errors of sources" }).getByText(/bad\.yaml$/).waitFor();
    await ask("mend");
    await page.getByRole("region", { name: "Errors of sources" }).waitFor({ state: "detached" });
  });

  await step("the node says how it follows its configuration files", async () => {
    const files = page.getByRole("region", { name: "Configuration files" });
    await files.getByText("nothing since the start").waitFor();
    await ask("configure");
    await files.getByText(/^maxPods, .* ago$/).waitFor();
    await files.getByText("serializeImagePulls: true, then false").waitFor();
    await accessible(page, "a setting that waits");
    await ask("misconfigure");
    const alarm = page.getByRole("region", { name: "Rejected configuration" });
    await alarm.getByText(/50\.conf/).waitFor();
    await files.getByText("serializeImagePulls: true, then false").waitFor();
    await ask("reconfigure");
    await alarm.waitFor({ state: "detached" });
    await files.getByText("Needs a restart").waitFor({ state: "detached" });
  });

  await step("names in other scripts are refused at their place", async () => {
    await act(page);
    await page.getByRole("link", { name: "Apply" }).click();
    await write(page, hostile("żółw-日本"));
    await page.locator(".violations", { hasText: "metadata.name" }).waitFor();
    await page.locator(".cm-lintRange-error").first().waitFor();
  });

  await step("what a pod says stays text, in any script", async () => {
    await write(page, hostile("hostile"));
    await page.getByText("created", { exact: true }).nth(1).waitFor();
    await page.route(`${origin}/v1/manifests`, (route) => route.abort(), { times: 1 });
    await page.getByRole("button", { name: /^Apply/ }).click();
    await page.locator(".problem", { hasText: "The node does not answer." }).waitFor();
    await page.getByRole("button", { name: /^Apply/ }).click(); // again, without a change
    await page.getByText("exit code 3").first().waitFor();
    await goTo("pods", "Pods");
    await page.getByRole("row", { name: /hostile.*exit code 3/ }).waitFor();
    await harmless("the pods");
    await goTo("pods/default/hostile", "default/hostile");
    await page.locator(".last-words, .pod-why", { hasText: html }).first().waitFor();
    const plain = (said) => said.includes(words) && !/[\x1b\u202e]/.test(said);
    await eventually("the last words are shown as", () => page.locator("main").innerText(), plain);
    await page.getByRole("button", { name: "Show 1 variable" }).click();
    await page.getByText(`WORDS=${words} ${html}`).waitFor();
    await harmless("the pod");
    await goTo("pods/default/hostile/yaml", "default/hostile");
    await page.locator(".yaml", { hasText: "example.org/words" }).waitFor();
    await harmless("its YAML");
    await goTo("objects/configmaps/default/hostile", "default/hostile");
    await page.locator(".yaml", { hasText: words }).waitFor();
    await harmless("its configuration");
  });

  await step("terminal output cannot act on the page", async () => {
    await goTo("pods/default/hostile", "default/hostile");
    await act(page);
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByLabel("Container", { exact: true }).selectOption("side");
    await page.getByLabel("Command").fill("cat /tmp/said");
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".xterm-rows > div", { hasText: /^over$/ }).waitFor();
    await page.locator(".xterm-rows").getByText("press").last().click();
    await harmless("the terminal");
  });

  await step("a terminal survives a flood, and Ctrl-C ends it", async () => {
    await page.getByLabel("Command").fill("sh");
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
    await page.keyboard.type("yes\n");
    await page.locator(".xterm-rows > div", { hasText: /^y$/ }).nth(9).waitFor();
    await page.keyboard.press("Control+C");
    await page.keyboard.type("echo $((6*7))\n");
    await page.locator(".xterm-rows > div", { hasText: /^42$/ }).waitFor();
  });

  await step("an action never reaches a successor of the same name", async () => {
    const dialog = page.getByRole("dialog");
    /**
     * put runs a pod with another command under the same name, and waits until the page shows it.
     */
    const put = async (command) => {
      await call(page, "POST", "/v1/manifests", twin(command));
      await page.locator(".command", { hasText: command }).waitFor();
      await page.getByText("1/1 ready").waitFor();
    };
    await goTo("pods/default/twin", "twin");
    await act(page);
    await put("sleep 1000");
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("button", { name: "Restart…" }).click();
    await put("sleep 2000");
    await dialog.getByRole("button", { name: "Restart", exact: true }).click();
    await dialog.getByRole("alert").filter({ hasText: "has uid" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await put("sleep 3000");
    await dialog.getByRole("button", { name: "Delete the pod" }).click();
    await dialog.getByRole("alert").filter({ hasText: "has uid" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.locator(".terminal-tab", { hasText: "main: sh ended" }).waitFor(); // the shell ran in the first pod
    await call(page, "DELETE", "/v1/namespaces/default/pods/twin");
  });

  await step("an address that leads nowhere says so", async () => {
    for (const path of ["pods/default/%FF", "pods/default/日本", "pods/default/%3Cimg%20src=x%3E"]) {
      await page.goto(`${origin}/ui/${path}`);
      await page.getByText("There is no pod").waitFor();
    }
    await goTo("%3Cscript%3E", "There is no such page");
    await goTo("pods?q=%3Cimg%3E日本", "Pods");
    await page.getByText("pods matches").waitFor();
    await goTo("pods/default/hostile/logs?c=side&at=never", "default/hostile");
    await page.getByText(/^tick \d+$/).first().waitFor();
    await harmless("these");
  });

  await step("a log resumes after cut connections", async () => {
    await goTo("pods/default/hostile/logs?c=side&since=all", "default/hostile");
    /** read returns the number of lines and the last line's number at one moment. */
    const read = () =>
      page.evaluate(() => {
        const number = (text = "") => Number(text.replaceAll(/[^\d]/g, ""));
        const lines = [...document.querySelectorAll(".log-text")].map((e) => e.innerText).filter((text) => /^tick \d+$/.test(text));
        return { all: number(document.querySelector(".log-search .num")?.innerText), last: number(lines.at(-1)) };
      });
    let { last } = await eventually("nothing is told", read, (now) => now.last > 0);
    for (let turn = 0; turn < 3; turn++) {
      cut();
      ({ last } = await eventually(`the log stays at ${last}`, read, (now) => now.last >= last + 10));
    }
    await eventually("lines are missing, or there twice", read, ({ all, last }) => all === last);
    await page.getByText("Live", { exact: true }).waitFor();
  });

  await step("unanswered requests are repeated once the node answers", async () => {
    await page.route("**/v1/**", (route) => route.abort());
    cut();
    await page.getByRole("link", { name: "Images" }).click();
    await page.locator(".problem", { hasText: "The node does not answer." }).waitFor();
    await page.unroute("**/v1/**");
    await page.getByRole("rowheader", { name: new RegExp(IMAGE) }).waitFor();
    await page.locator(".problem").waitFor({ state: "detached" });
  });

  await step("a slow network is reported, and then works", async () => {
    await page.goto("about:blank");
    await wire.send("Network.enable");
    await wire.send("Network.clearBrowserCache");
    await wire.send("Network.emulateNetworkConditions", { offline: false, latency: 400, downloadThroughput: 120_000, uploadThroughput: 20_000 });
    // The answer waits until the words have been on the screen, however slow the machine is.
    let seen;
    const shown = new Promise((done) => (seen = done));
    await page.route("**/ui/session", (route) => shown.then(() => route.continue()));
    await page.goto(`${origin}/ui/apply`, { waitUntil: "commit" });
    await page.getByText("Asking the node…").waitFor();
    seen();
    await page.getByRole("heading", { name: "Apply" }).waitFor();
    const fetched = new Promise((done) => (seen = done));
    await page.route("**/ui/assets/*.js", (route) => fetched.then(() => route.continue()));
    await act(page);
    await page.getByText("Fetching this part of the page…").waitFor();
    seen();
    await write(page, hostile("hostile"));
    await page.getByText("unchanged", { exact: true }).nth(1).waitFor();
    await page.unroute("**/ui/session");
    await page.unroute("**/ui/assets/*.js");
    await wire.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  });

  await step("while the node is gone nothing is lost, and the page resumes", async () => {
    await ask("kill");
    await page.getByText("The node cannot be reached.").waitFor();
    // Screen readers do not announce it each second.
    await page.getByRole("status").getByRole("timer").filter({ hasText: /\d/ }).waitFor();
    await write(page, hostile("second"));
    await page.locator(".problem", { hasText: "The node does not answer." }).waitFor();
    await accessible(page, "a node that is gone");
    await ask("launch");
    await page.getByText("The node cannot be reached.").waitFor({ state: "detached" });
    await page.getByText("created", { exact: true }).nth(1).waitFor(); // the plan was made again
    await goTo("pods/default/hostile", "default/hostile");
    await call(page, "DELETE", "/v1/namespaces/default/pods/hostile");
    await call(page, "DELETE", "/v1/namespaces/default/configmaps/hostile");
  });

  await step("a revoked user is signed out with a message", async () => {
    await signOut(page);
    await page.getByLabel(/One from the node/).fill(readFileSync(VIEWER_TOKEN, "utf8").trim());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    await ask("revoke"); // open streams end, and the page notices
    await page.getByRole("heading", { name: "Sign in to this node" }).waitFor();
    await page.getByText("Your session has ended.").waitFor();
    await page.getByLabel(/One from the node/).fill(readFileSync(VIEWER_TOKEN, "utf8").trim());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("the token is unknown or was revoked").waitFor();
    await accessible(page, "signing in again");
  });
});
