// What a user does in the dashboard from the first link to the last deletion.
import { readFileSync } from "node:fs";
import { accessible, ask, browser, expect, finish, step, write } from "./steps.mjs";

const { LINK, SECOND_LINK, IMAGE, VIEWER_TOKEN } = process.env;
const origin = new URL(LINK).origin;
const budget = 250 * 1024; // bytes that cross the wire before the first page stands
const { context, page, wrong } = await browser(origin);
process.on("SIGINT", () => void context.close().then(() => process.exit(1)));

const manifest = (command) => `apiVersion: v1
kind: Pod
metadata:
  name: story
  labels: {app: story}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: ${IMAGE}
    command: [sh, -c, ${JSON.stringify(command)}]
  - name: side
    image: ${IMAGE}
    command: [sh, -c, "while true; do echo side speaks; sleep 1; done"]
`;
// Everything that a container may print to do harm, and then a line now and then.
const hostile = [
  "printf '<img src=x onerror=document.title=1><script>document.title=2</script>\\n'",
  "printf '\\033]0;title\\007\\033[2J\\033[31mred\\033[0m plain\\n'",
  "head -c 300 /dev/urandom; echo",
  "head -c 1000000 /dev/zero | tr '\\0' x; echo",
  "seq 300",
  "i=0; while true; do i=$((i+1)); echo tick $i; sleep 0.5; done",
].join("; ");

const goTo = async (path, heading) => {
  await page.goto(`${origin}/ui/${path}`);
  await page.getByRole("heading", { name: heading }).first().waitFor();
};
const act = () => page.getByRole("button", { name: "Read-only" }).click();

try {
  await step("the link signs in, and little is fetched for the first page", async () => {
    const wire = await context.newCDPSession(page);
    let bytes = 0;
    await wire.send("Network.enable");
    wire.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
    await page.goto(LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await page.evaluate(() => document.fonts.ready);
    const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    console.log(`     ${Math.round(bytes / 1024)} KiB, first paint after ${Math.round(painted)} ms`);
    expect(bytes > 20_000 && bytes < budget, `${bytes} bytes for the first page, at most ${budget} are allowed`);
    expect(!page.url().includes("code="), `the code stays in the address ${page.url()}`);
    await accessible(page, "the node");
  });

  await step("the link is good for one browser", async () => {
    await context.clearCookies();
    await page.goto("about:blank");
    await page.goto(LINK);
    await page.getByText("the link was used already").waitFor();
    await accessible(page, "signing in");
  });

  await step("a viewer looks, and is offered nothing else", async () => {
    await page.getByLabel(/One from the node/).fill(readFileSync(VIEWER_TOKEN, "utf8").trim());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    expect((await page.getByRole("button", { name: "Read-only" }).count()) === 0, "a viewer is offered to act");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to this node" }).waitFor();
    await page.goto("about:blank");
    await page.goto(SECOND_LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
  });

  await step("a manifest with a mistake is shown where", async () => {
    expect((await page.getByRole("link", { name: "Apply" }).count()) === 0, "one can act without having asked to");
    await act();
    await page.getByRole("link", { name: "Apply" }).click();
    await write(page, manifest("true").replace("image:", "imag:"));
    await page.getByText("must not be given (unknown field)").first().waitFor();
    await page.locator(".cm-lintRange-error").first().waitFor();
  });

  await step("a pasted manifest is planned, applied and becomes ready", async () => {
    await write(page, manifest(hostile));
    await page.getByText("created", { exact: true }).waitFor();
    await accessible(page, "the plan");
    await page.getByRole("button", { name: /^Apply/ }).click();
    await page.getByRole("heading", { name: "Applied" }).waitFor();
    await page.locator(".progress").getByText("Ready").waitFor();
  });

  await step("the pod shows where its time went", async () => {
    await page.locator(".progress a").click();
    await page.getByRole("img", { name: /Timeline: pod: .*Running/ }).waitFor();
    await page.getByText(/ready after/).waitFor();
    await accessible(page, "the pod");
  });

  await step("its log is followed, and does no harm", async () => {
    await page.getByRole("link", { name: "Logs" }).first().click();
    await page.getByText(/^tick \d+$/).first().waitFor();
    await page.locator(".log-box").hover();
    for (let i = 0; i < 12; i++) await page.mouse.wheel(0, -1000);
    await page.getByText("Paused by scrolling").waitFor();
    await page.getByText("<img src=x onerror=document.title=1><script>document.title=2</script>").waitFor();
    await page.locator(".log-row .f1", { hasText: "red" }).waitFor();
    await page.getByText(/KiB more/).waitFor();
    expect((await page.title()) === "Nodal", `the title is ${await page.title()}`);
    expect((await page.locator(".log-box img, .log-box script").count()) === 0, "HTML of a container is in the page");
    await accessible(page, "the log");
    await page.getByLabel("Search the log").fill("TICK 1");
    await page.locator("mark", { hasText: "tick 1" }).first().waitFor();
    await page.getByLabel("Search the log").fill("");
    await page.getByRole("button", { name: "side" }).click();
    await page.getByText("side speaks").first().waitFor();
    const end = page.getByRole("button", { name: "To the end" });
    if (await end.count()) await end.click();
    await page.getByText("Following").waitFor();
  });

  await step("a terminal opens in it", async () => {
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
    await page.keyboard.type("echo $((6*7)); stty size; exit 5\n");
    await page.locator(".xterm-rows > div", { hasText: /^42$/ }).waitFor();
    await page.locator(".xterm-rows > div", { hasText: /^[1-9]\d+ [1-9]\d+$/ }).waitFor();
    await page.getByText("ended with exit code 5").waitFor();
  });

  await step("a change is shown before it is made, and its failure explained", async () => {
    await page.getByRole("link", { name: "Edit…" }).click();
    await page.locator(".cm-content").getByText("kind").first().waitFor();
    await write(page, manifest("echo going; exit 3"));
    await page.getByText("+ - echo going; exit 3").waitFor();
    await page.getByRole("button", { name: /^Apply/ }).click();
    await page.getByText("exit code 3").first().waitFor();
    await page.getByRole("link", { name: "Pods" }).click();
    await page.getByRole("row", { name: /story.*CrashLoopBackOff.*exit code 3/ }).waitFor();
    await accessible(page, "the pods");
  });

  await step("the pods are walked by keys", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("story");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "default/story" }).waitFor();
  });

  await step("the node crashes, comes back, and the page goes on", async () => {
    await ask("kill");
    await page.getByText("The node cannot be reached.").waitFor();
    await ask("launch");
    await page.getByText("The node cannot be reached.").waitFor({ state: "detached" });
    await page.getByText("Live", { exact: true }).waitFor();
  });

  await step("what was before comes back", async () => {
    await page.getByRole("link", { name: "Edit…" }).click();
    await page.locator(".cm-content").getByText("kind").first().waitFor();
    await write(page, manifest("echo steady; sleep 1000"));
    await page.getByText("+ - echo steady; sleep 1000").waitFor();
    await page.getByRole("button", { name: /^Apply/ }).click();
    await page.locator(".progress").getByText("Ready").waitFor();
    await page.getByRole("button", { name: "Roll back story" }).click();
    await page.getByText("exit code 3").first().waitFor();
  });

  await step("the pod is deleted", async () => {
    await goTo("pods/default/story", "default/story");
    await act();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByText("curl", { exact: true }).waitFor();
    await accessible(page, "the dialog");
    await page.getByRole("button", { name: "Delete the pod" }).click();
    await page.getByText("Deleted", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Pods" }).click();
    await page.getByText("This node has no pods yet.").waitFor();
  });

  await step("500 pods are a page of rows", async () => {
    const pod = (i) => ({ namespace: "default", name: `pod-${i}`, uid: `u${i}`, revision: `${i}`, phase: "POD_PHASE_RUNNING", ready: true, object: { spec: { containers: [{ name: "c" }] } } });
    const body = Array.from({ length: 500 }, (_, i) => `id: ${i + 1}\nevent: ADDED\ndata: ${JSON.stringify({ type: "WATCH_TYPE_ADDED", revision: `${i + 1}`, pod: pod(i + 1) })}\n\n`).join("");
    await page.route("**/v1/pods:watch*", (route) => route.fulfill({ contentType: "text/event-stream", body: `${body}event: SYNCED\ndata: {"type":"WATCH_TYPE_SYNCED","revision":"500"}\n\n` }));
    await goTo("pods", "Pods");
    await page.getByText("pod-1", { exact: true }).waitFor();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.getByText("pod-99", { exact: true }).waitFor();
    const rows = await page.locator(".row.pod").count();
    expect(rows < 60, `${rows} rows are drawn at once`);
  });

  await step("nothing else was asked, and nothing went wrong", () => expect(wrong.length === 0, wrong.join("\n")));
} catch {
  await page.screenshot({ path: `${process.env.PROFILE}/end.png` }).catch(() => {});
  if (process.env.KEEP) await page.screenshot({ path: process.env.KEEP }).catch(() => {});
  console.log(`the page shows:\n${(await page.locator("body").innerText().catch(() => "")).slice(0, 1500)}\n${wrong.join("\n")}`);
} finally {
  await context.close();
}
finish();
