// A user's way through the dashboard, from the first link to the last deletion.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, act, ask, eventually, expect, paste, signOut, story, write } from "./steps.mjs";

const { LINK, SECOND_LINK, IMAGE, TARBALL, VIEWER_TOKEN, PROFILE } = process.env;

/** site serves a page that needs a second file, and speaks. */
const site = "mkdir /tmp/www; cd /tmp/www; echo '<link rel=stylesheet href=look.css><h1>a page of a pod</h1>' > index.html; echo 'h1 { color: rgb(1, 2, 3) }' > look.css; httpd -p 8081; while true; do echo side speaks; sleep 1; done";

const manifest = (command, greeting = "hello") => `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: ${greeting}}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: "<b>open</b>"}
---
apiVersion: v1
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
    ports: [{containerPort: 8080}]
    env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: login, key: password}}}]
    resources: {limits: {memory: 256Mi}}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
    volumeMounts: [{name: settings, mountPath: /etc/settings}]
  - name: side
    image: ${IMAGE}
    command: [sh, -c, ${JSON.stringify(site)}]
    ports: [{containerPort: 8081, name: web}]
  volumes:
  - {name: settings, configMap: {name: settings}}
`;
// Everything harmful that a container may print, and then a line now and then.
const hostile = [
  "printf '<img src=x onerror=document.title=1><script>document.title=2</script>\\n'",
  "printf '\\033]0;title\\007\\033[2J\\033[31mred\\033[0m plain\\n'",
  "head -c 300 /dev/urandom; echo",
  "head -c 1000000 /dev/zero | tr '\\0' x; echo",
  "seq 300",
  "i=0; while true; do i=$((i+1)); echo tick $i; sleep 0.5; done",
].join("; ");

await story(async ({ context, page, origin, step }) => {
  const goTo = async (path, heading) => {
    await page.goto(`${origin}/ui/${path}`);
    await page.getByRole("heading", { name: heading }).first().waitFor();
  };

  /** scroll turns the wheel over the log; a line that arrives at that moment may undo it. */
  const scroll = async (by) => {
    await page.locator(".log-box").hover();
    await eventually("the log goes on", async () => {
      await page.mouse.wheel(0, by);
      return page.getByText("Paused by scrolling").waitFor({ timeout: 2000 }).then(() => true, () => false);
    });
  };

  await step("the link signs in", async () => {
    await page.goto(LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    expect(!page.url().includes("code="), `the code stays in the address ${page.url()}`);
    await accessible(page, "the node");
  });

  await step("the link is good for one browser", async () => {
    await context.clearCookies();
    await page.goto("about:blank");
    await page.goto(LINK);
    await page.getByText("the link was used already").waitFor();
    await page.getByRole("link", { name: "The documents of this node" }).waitFor();
    await accessible(page, "signing in");
  });

  await step("a viewer sees no actions", async () => {
    await page.getByLabel(/One from the node/).fill(readFileSync(VIEWER_TOKEN, "utf8").trim());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    expect((await page.getByRole("button", { name: "Read-only" }).count()) === 0, "a viewer is offered to act");
    await signOut(page);
    await page.getByRole("heading", { name: "Sign in to this node" }).waitFor();
    await page.goto(SECOND_LINK); // the page stays: only what follows the # is different
    await page.getByRole("heading", { name: "node-a" }).waitFor();
  });

  await step("the node shows its usage", async () => {
    await page.getByRole("img", { name: /^Memory: now .*iB, at most/ }).waitFor();
    await page.getByRole("meter", { name: "Disk" }).waitFor();
    await accessible(page, "usage");
    await page.route("**/v1/stats:watch*", (route) => route.abort());
    await page.reload();
    await page.getByRole("img", { name: /^Memory: now .*iB, at most/ }).waitFor(); // the history was kept
    await page.unroute("**/v1/stats:watch*");
  });

  await step("a dropped tarball is imported", async () => {
    expect((await page.getByRole("link", { name: "Apply" }).count()) === 0, "one can act without having asked to");
    await page.getByRole("link", { name: "Images" }).click();
    await page.getByRole("heading", { name: "Images" }).waitFor();
    expect((await page.getByRole("button", { name: "Import…" }).count()) === 0, "one can import without having asked to act");
    await act(page);
    const dropped = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["this is no tarball"], "bad.tar"));
      return data;
    });
    await page.locator(".page").dispatchEvent("drop", { dataTransfer: dropped });
    await page.locator(".import", { hasText: "bad.tar" }).locator(".health.failed").waitFor();
    await page.getByRole("button", { name: "Forget bad.tar" }).click();
    await page.getByLabel("Tarballs to import").setInputFiles(TARBALL);
    await page.getByText(`imported ${IMAGE}`).waitFor();
    await accessible(page, "the images");
  });

  await step("a mistake in a manifest is marked at its place", async () => {
    await page.getByRole("link", { name: "Apply" }).click();
    await write(page, manifest("true").replace("image:", "imag:"));
    await page.getByText("unknown field; did you mean image?").first().waitFor();
    await page.locator(".cm-lintRange-error").first().waitFor();
  });

  await step("completions are offered, kind by kind", async () => {
    const offered = page.locator(".cm-tooltip-autocomplete li");
    // Completion offers nothing before the node has sent its schema.
    await eventually("a ConfigMap is offered no data", async () => {
      await write(page, "kind: ConfigMap\n");
      await page.keyboard.type("d");
      return offered.filter({ hasText: /^data$/ }).waitFor({ timeout: 5000 }).then(() => true, () => false);
    });
    await page.locator(".cm-completionInfo", { hasText: "Data contains the configuration data." }).waitFor();
    expect((await offered.filter({ hasText: /^spec$/ }).count()) === 0, "a ConfigMap is offered a spec");
    await write(page, "kind: Pod\nspec:\n  restartPolicy:");
    await page.keyboard.type(" O");
    await offered.filter({ hasText: /^OnFailure$/ }).click();
    await page.locator(".cm-line", { hasText: /^ {2}restartPolicy: OnFailure$/ }).waitFor();
  });

  await step("a pasted manifest is planned, applied once and becomes ready", async () => {
    const applies = [];
    page.on("request", (request) => request.url() === `${origin}/v1/manifests` && applies.push(request));
    await write(page, manifest(hostile));
    await page.getByText("created", { exact: true }).nth(2).waitFor();
    await accessible(page, "the plan");
    await page.getByRole("button", { name: /^Apply/ }).click();
    await page.getByRole("heading", { name: "Applied" }).waitFor();
    await page.locator(".cm-content").press("Control+Enter"); // the plan is complete already
    await page.getByText(/The pod is as wanted after/).waitFor();
    expect(applies.length === 1, `it is applied ${applies.length} times`);
    await page.locator(".progress").getByText("Ready", { exact: true }).waitFor();
    await accessible(page, "the progress");
  });

  await step("the pod shows where its time went", async () => {
    await page.locator(".progress a").click();
    await page.getByRole("img", { name: /Timeline: pod: sandbox .*running/ }).waitFor();
    await page.getByText(/ready after/).waitFor();
    await page.getByText("has not failed").first().waitFor();
    await page.getByText("of 256 MiB").waitFor();
    await page.getByRole("img", { name: /^Memory: now/ }).nth(1).waitFor();
    await page.getByRole("button", { name: "Connect: port 8080" }).click();
    await page.getByText(/^curl http:\/\/[\d.]+:8080\/$/).waitFor();
    await accessible(page, "the pod");
  });

  await step("a page of the pod opens in a window, apart from the dashboard", async () => {
    const [opened] = await Promise.all([context.waitForEvent("page"), page.getByRole("button", { name: "Open port 8081 in a new window" }).click()]);
    const title = opened.getByRole("heading", { name: "a page of a pod" });
    await title.waitFor();
    await eventually("the second file gives the page the colour", () => title.evaluate((e) => getComputedStyle(e).color), (colour) => colour === "rgb(1, 2, 3)");
    expect((await opened.evaluate(() => self.origin)) === "null", "the page of a pod has the node's origin");
    await opened.close();
  });

  await step("the shown commands do what the page does", async () => {
    const shown = (within) => within.locator(".commands > pre").innerText();
    const copied = async (within) => {
      await page.evaluate(() => (window.copied = ""));
      await within.locator(".commands-head").getByRole("button", { name: "Copy" }).click();
      return eventually("nothing is copied", () => page.evaluate(() => window.copied));
    };
    await page.evaluate(() => {
      // A page without TLS has no clipboard.
      Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
      document.addEventListener("copy", (event) => (window.copied = event.target.value));
    });
    await page.getByRole("button", { name: "Other clients" }).click();
    await page.getByRole("button", { name: "API" }).nth(1).click();
    expect((await paste(await shown(page.locator(".popover")))).includes('"qosClass"'), "the command does not answer with the pod");
    // The popover stays open for a click on its margin.
    await page.locator(".popover").click({ position: { x: 5, y: 30 } });
    expect((await copied(page.locator(".popover"))) === (await shown(page.locator(".popover"))), "the command is not copied");
    await eventually("what the focus has left stays open", async () => {
      await page.keyboard.press("Shift+Tab");
      return (await page.locator(".popover").count()) === 0;
    });
    await page.getByRole("button", { name: "Restart…" }).click();
    await page.getByLabel("What").selectOption("side");
    expect((await paste(await shown(page.getByRole("dialog")))).includes('"gracePeriod"'), "the command does not restart the container");
    expect((await copied(page.getByRole("dialog"))) === (await shown(page.getByRole("dialog"))), "the command is not copied from a dialog");
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("1 restart", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByLabel("Command").fill(`sh -c "echo 'it ends'; exit 7"`);
    await page.getByRole("button", { name: "API" }).click();
    expect(/"exitCode": *7\b/.test(await paste(await shown(page.locator(".popover")))), "the command does not run in the container");
    await page.getByRole("link", { name: "Apply" }).click();
    await write(page, manifest("true"));
    writeFileSync(join(PROFILE, "pod.yaml"), manifest("true"));
    await page.getByRole("button", { name: "API" }).click();
    expect((await paste(await shown(page.locator(".popover")))).includes("RESULT_REPLACED"), "the command does not plan");
    await goTo("pods/default/story", "default/story");
  });

  await step("its usage is shown, and secrets on request", async () => {
    await page.getByRole("link", { name: "settings" }).click();
    await page.getByRole("heading", { name: "default/settings" }).waitFor();
    await page.getByRole("link", { name: "Objects" }).first().click();
    await page.getByRole("row", { name: /^settings greeting story$/ }).waitFor();
    await accessible(page, "the objects");
    await page.getByRole("link", { name: "login" }).click();
    await page.getByRole("heading", { name: "default/login" }).waitFor();
    expect((await page.getByText("<b>open</b>").count()) === 0, "a secret is shown unasked");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("<b>open</b>").waitFor();
    await accessible(page, "a secret");
    await goTo("objects/configmaps/default/settings", "default/settings");
    await act(page);
    await page.getByRole("link", { name: "Edit…" }).click();
    await page.getByText("unchanged", { exact: true }).waitFor();
    await goTo("pods/default/story", "default/story");
    await act(page);
  });

  await step("its log is followed, and hostile output does no harm", async () => {
    await page.getByRole("link", { name: "Logs" }).first().click();
    await page.getByText(/^tick \d+$/).first().waitFor();
    await scroll(-1000);
    await page.locator(".log-box").press("Home");
    await page.getByText("<img src=x onerror=document.title=1><script>document.title=2</script>").waitFor();
    await page.locator(".log-row .f1", { hasText: "red" }).waitFor();
    await page.getByText(/KiB more/).waitFor();
    await eventually("the title is", () => page.title(), (title) => title === "story · node-a");
    expect((await page.locator(".log-box img, .log-box script").count()) === 0, "HTML of a container is in the page");
    await accessible(page, "the log");
    await page.getByLabel("Search the log").fill("TICK 1");
    await page.locator("mark", { hasText: "tick 1" }).first().waitFor();
    await page.getByLabel("Search the log").fill("");
    await page.getByRole("button", { name: "side" }).click();
    await page.getByText("side speaks").first().waitFor();
    await page.getByText("Following").waitFor();
  });

  await step("the logs of several containers are one, searched by an expression of the address", async () => {
    await page.goto(`${origin}/ui/logs?pods=${encodeURIComponent("app=story")}&q=${encodeURIComponent("/^(tick \\d+|side speaks)$/")}`);
    for (const [source, text] of [["story main", /^tick \d+$/], ["story side", /^side speaks$/]]) {
      await page.locator(".log-row", { has: page.locator(".log-source", { hasText: source }) }).locator("mark", { hasText: text }).first().waitFor();
    }
    await accessible(page, "the logs of several containers");
    await page.getByLabel("Search the log").fill("/(/");
    await page.getByRole("alert").getByText("no expression").waitFor();
    await goTo("pods/default/story/logs?c=main,side", "default/story");
    await page.getByText("side speaks").first().waitFor();
    await page.getByText(/^tick \d+$/).first().waitFor();
  });

  await step("a log line has an address, and the log can be downloaded", async () => {
    await scroll(-200); // a click cannot hit lines that move
    await page.locator(".log-box").press("ArrowUp");
    await page.keyboard.press("k");
    await page.keyboard.press("ArrowDown");
    const chosen = page.getByRole("option", { selected: true });
    const read = await chosen.locator(".log-text").innerText();
    await page.keyboard.press("Enter");
    await page.locator(".line-detail pre", { hasText: read }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.getByRole("button", { name: "Copy link" }).evaluate((e) => e === document.activeElement), "the link of the line is not next");
    await page.locator(".log-row", { hasText: /tick \d+$/ }).first().click();
    const text = await page.locator(".line-detail pre").innerText();
    expect(/^tick \d+$/.test(text), `the line that was pressed is ${text}`);
    await page.evaluate(() => (navigator.clipboard.writeText = async (words) => void (window.copied = words)));
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.goto(await eventually("nothing is copied", () => page.evaluate(() => window.copied)));
    const target = page.locator(".log-row.target .log-text");
    expect((await target.innerText()) === text, `the address of ${text} leads to ${await target.innerText()}`);
    await eventually("the line is in sight", () => target.evaluate((e) => e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight));
    await page.getByRole("button", { name: "Download" }).click();
    const [merged] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: /merged/ }).click()]);
    const saved = readFileSync(await merged.path(), "utf8");
    expect(saved.includes(` main ${text}\n`) && saved.includes(" side side speaks\n"), `the download holds ${saved.slice(0, 200)}`);
    await act(page);
  });

  await step("a terminal opens in it", async () => {
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
    await page.keyboard.type("echo $((6*7)); stty size; exit 5\n");
    await page.locator(".xterm-rows > div", { hasText: /^42$/ }).waitFor();
    await page.locator(".xterm-rows > div", { hasText: /^[1-9]\d+ [1-9]\d+$/ }).waitFor();
    await page.getByText("ended with exit code 5").waitFor();
    await page.getByLabel("Container", { exact: true }).selectOption("side");
    await page.getByRole("button", { name: "Attach" }).click();
    await page.locator("form button[type=submit]").click();
    await page.locator(".xterm-rows > div", { hasText: /^side speaks$/ }).first().waitFor();
    await accessible(page, "the terminals");
  });

  await step("an admin sees who did what to it", async () => {
    await page.getByRole("link", { name: "Record", exact: true }).click();
    await page.getByRole("img", { name: /^Memory on record: now .*iB, at most/ }).waitFor(); // of some time ago: it has run for longer than samples are apart
    await page.getByRole("link", { name: "Audit" }).click();
    await page.locator(".deeds .event", { hasText: /Apply\s.*OK/ }).first().waitFor();
    await page.locator(".deeds .event", { hasText: /exec in main\s.*exit code 5/ }).waitFor();
    await accessible(page, "the audit log");
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

  await step("keys walk through the pods", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("story");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "default/story" }).waitFor();
    for (const [key, part] of [["l", "logs"], ["t", "terminal"], ["r", "record"], ["e", "events"], ["y", "yaml"]]) {
      await page.getByRole("link", { name: "Pods" }).click();
      await page.getByRole("row", { name: /story/ }).waitFor();
      // A page listens for keys only after it is painted.
      await eventually("no pod has the focus", async () => {
        for (const step of ["j", "j", "k"]) await page.keyboard.press(step);
        return page.locator("a[data-index]:focus", { hasText: "story" }).count();
      });
      await page.keyboard.press(key);
      await page.waitForURL(`**/ui/pods/default/story/${part}`);
    }
    await eventually("the pod's own page has no keys", async () => {
      await page.keyboard.press("e");
      return page.url().endsWith("/ui/pods/default/story/events");
    });
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "A page or a pod" }).waitFor();
    await page.keyboard.type("story");
    await page.getByRole("option", { name: /^story/, selected: true }).waitFor();
    await accessible(page, "the palette");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/ui/pods/default/story");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
  });

  await step("the node crashes, comes back, and the page resumes", async () => {
    await ask("kill");
    await page.getByText("The node cannot be reached.").waitFor();
    await ask("launch");
    await page.getByText("The node cannot be reached.").waitFor({ state: "detached" });
    await page.getByText("Live", { exact: true }).waitFor();
  });

  await step("its record says over a crash of the node why it restarted", async () => {
    await page.getByRole("link", { name: "Record", exact: true }).click();
    await page.getByRole("img", { name: /^main: \d+ runs?, the last / }).waitFor();
    await page.getByRole("img", { name: /^Changes: / }).waitFor();
    await page.locator(".record .event", { hasText: /Apply\s*OK/ }).first().waitFor();
    await accessible(page, "the record");
    await page.getByRole("button", { name: /^Why did main end/ }).first().click();
    const ticket = page.locator(".ticket", { hasText: /It ended by itself, with exit code 3\.[^]*Its last lines:\s+going/ });
    await ticket.waitFor();
    await accessible(page, "the text for a ticket");
    await page.keyboard.press("Escape");
    await ticket.waitFor({ state: "detached" });
  });

  await step("a roll back restores the previous state", async () => {
    await page.getByRole("link", { name: "Edit…" }).click();
    await page.locator(".cm-content").getByText("kind").first().waitFor();
    await write(page, manifest("echo steady; sleep 1000", "good day"));
    await page.getByText("+ - echo steady; sleep 1000").waitFor();
    await page.locator(".diff", { hasText: /data\[greeting\]\s*- hello\s*\+ good day/ }).waitFor();
    await page.getByRole("button", { name: /^Apply/ }).click();
    await page.locator(".progress").getByText("Ready", { exact: true }).waitFor();
    await goTo("pods/default/story", "default/story"); // history outlives the page
    await act(page);
    await page.getByRole("link", { name: "Roll back…" }).click();
    await page.getByText("+ - echo going; exit 3").waitFor();
    await page.getByText("+ hello").waitFor();
    await page.getByRole("button", { name: /^Apply/ }).click();
    await page.getByText("exit code 3").first().waitFor();
    await page.getByRole("button", { name: "Roll back settings, story…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("ConfigMap settings, Pod story: as before").waitFor();
    await dialog.getByText(/--data-binary @pod.yaml/).waitFor();
    await accessible(page, "rolling back");
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.locator(".outcome", { hasText: /changed in place\s*ConfigMap settings/ }).waitFor();
    await page.locator(".progress").getByText("Ready", { exact: true }).waitFor();
  });

  await step("the pod is deleted", async () => {
    await goTo("pods/default/story", "default/story");
    await act(page);
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByText("curl", { exact: true }).waitFor();
    await accessible(page, "the dialog");
    await page.getByRole("button", { name: "Delete the pod" }).click();
    await page.getByText("Deleted", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Pods" }).click();
    await page.getByText("This node has no pods yet.").waitFor();
  });
});
