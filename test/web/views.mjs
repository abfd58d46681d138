// Views for each role and screen, and how smooth they are.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, act, best, call, eventually, expect, paste, signOut, story, write } from "./steps.mjs";

const { LINK, IMAGE, PROFILE, VIEW, VIEWER_TOKEN } = process.env;

const speak = "echo x >> /keep/runs; echo this is run $(wc -l < /keep/runs); echo level=warn careful; echo ERROR: it broke; sleep 1000 & trap 'exit 0' TERM; wait";
const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: seen}
data: {long: ${"a-word-without-an-end".repeat(12)}}
---
apiVersion: v1
kind: Secret
metadata: {name: unseen}
stringData: {password: sesame}
---
apiVersion: v1
kind: Pod
metadata: {name: seen}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: ${IMAGE}
    command: [sh, -c, ${JSON.stringify(speak)}]
    ports: [{containerPort: 8080}]
    env: [{name: LONG, valueFrom: {configMapKeyRef: {name: seen, key: long}}}]
    volumeMounts: [{name: keep, mountPath: /keep}]
  volumes: [{name: keep, emptyDir: {}}]
`;

const long = "a-name-as-somebody-has-generated-it-out-of-many-others-12345678";
const failing = `apiVersion: v1
kind: Pod
metadata: {name: ${long}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: ${long}, image: "nodal.test/none:1", imagePullPolicy: Never}]
`;

/** character is the width of a character in a terminal. */
const character = 7.8; // px

/** smooth is the time between two of 60 frames a second. */
const smooth = 1000 / 60; // ms

/** usual is the work of spin's loop on common machines. */
const usual = 160; // ms

async function spin(page, work) {
  const before = await work();
  await page.evaluate(() => {
    let x = 0;
    for (let i = 0; i < 30_000_000; i++) x = (Math.imul(x, 31) + i) | 0;
    return x;
  });
  return (await work()) - before;
}

await story(async ({ context, page, origin, step }) => {
  const goTo = async (path, heading) => {
    await page.goto(`${origin}/ui/${path}`);
    await page.getByRole("heading", { name: heading }).first().waitFor();
  };
  const gone = async (where, ...names) => {
    for (const name of names) {
      const found = (await page.getByRole("button", { name, exact: true }).count()) + (await page.getByRole("link", { name, exact: true }).count());
      expect(found === 0, `${where} offers ${name}`);
    }
  };

  await step("a pod has run before", async () => {
    await page.goto(LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await call(page, "POST", "/v1/manifests", manifest);
    await goTo("pods/default/seen/logs?since=all", "default/seen");
    await page.getByText("this is run 1").waitFor();
    await call(page, "POST", "/v1/namespaces/default/pods/seen:restart", "{}");
    await page.getByText("this is run 2").waitFor();
  });

  await step("its log is shown by run, time and level", async () => {
    const lines = page.locator(".log-row");
    await page.getByRole("button", { name: "Previous run" }).click();
    await page.getByText("The run has ended").waitFor();
    await page.getByText("this is run 1").waitFor();
    await page.getByText("this is run 2").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Previous run" }).click();
    await page.getByText("this is run 2").waitFor();
    const asked = page.waitForRequest(/sinceSeconds=600\b/);
    await page.getByLabel("How far back").selectOption("Last 10 minutes");
    await asked;
    await page.getByText("this is run 2").waitFor();
    await page.getByLabel("Level").selectOption("Errors");
    await page.getByText("this is run 2").waitFor({ state: "detached" });
    const errors = (shown) => shown.length > 0 && shown.every((text) => text.includes("ERROR: it broke"));
    await eventually("a filter for errors shows", () => lines.allInnerTexts(), errors);
    await page.getByLabel("Level").selectOption("Warnings and errors");
    await page.getByText("level=warn careful").waitFor();
  });

  await step("a terminal has the size of its box", async () => {
    await goTo("pods/default/seen", "default/seen");
    await act(page);
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByLabel("Command").fill(`sh -c "while true; do stty size; sleep 0.2; done"`);
    await page.getByRole("button", { name: "Open" }).click();
    /**
     * looks returns what the page has drawn, the room for it, and the last size that the container
     * got.
     */
    const looks = () =>
      page.evaluate(() => {
        const [box, screen] = [".terminal-box", ".xterm-screen"].map((part) => document.querySelector(part).getBoundingClientRect());
        const [rows, columns] = (/(\d+ \d+)\s*$/.exec(document.querySelector(".xterm-rows").innerText)?.[1] ?? "0 0").split(" ").map(Number);
        return { rows, columns, drawn: document.querySelectorAll(".xterm-rows > div").length, width: screen.width, height: screen.height, room: [box.width, box.height] };
      });
    const right = ({ rows, columns, drawn, width, height, room }) =>
      rows === drawn && Math.abs(width / columns - character) < 1 && room[0] - width < 40 && room[1] - height < 40;
    await page.locator(".xterm-rows > div").first().waitFor({ state: "attached" });
    const large = await eventually("the terminal is", looks, right);
    await page.setViewportSize({ width: 820, height: 620 });
    await eventually(`a smaller window makes ${large.rows} ${large.columns} to`, looks, (now) => right(now) && now.rows < large.rows && now.columns < large.columns);
    await page.setViewportSize({ width: 1360, height: 850 });
    await page.getByRole("button", { name: /^Close the terminal/ }).click();
  });

  await step("other programs do the same with the shown commands", async () => {
    writeFileSync(join(PROFILE, "nowhere.yaml"), "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n");
    writeFileSync(join(PROFILE, "pod.yaml"), manifest);
    const command = async (within, client) => {
      await within.getByRole("button", { name: client, exact: true }).click();
      return within.locator(".commands > pre").innerText();
    };
    /**
     * right means that kubectl understands the command and looks for an API server, which does not
     * exist.
     */
    const right = async (text) => {
      const said = await paste(`export KUBECONFIG=nowhere.yaml; ${text}`).then(() => "it went well", (error) => error.stderr);
      expect(/connection refused|was refused/.test(said), `${text}: ${said}`);
    };
    const both = async (within, answer) => {
      const said = await paste(await command(within, "grpcurl"));
      expect(answer.test(said), `grpcurl says ${said.slice(0, 300)}`);
      await right(await command(within, "kubectl"));
    };
    const popover = page.locator(".popover");
    await page.getByLabel("Command").fill(`sh -c "echo 'it ends'; exit 7"`);
    await page.getByRole("button", { name: "Other clients" }).click();
    await page.getByRole("button", { name: "API" }).click();
    await both(popover, /"exitCode": *7\b/);
    await page.getByRole("link", { name: "YAML" }).click();
    await page.getByRole("button", { name: "API" }).click();
    await both(popover, /"podIps"/);
    await page.getByRole("link", { name: "Logs" }).first().click();
    await page.getByRole("button", { name: "API" }).click();
    await right(await command(popover, "kubectl"));
    await page.getByRole("link", { name: "Apply" }).click();
    await page.getByRole("button", { name: "API" }).click();
    await both(popover, /RESULT_UNCHANGED/);
    await goTo("pods/default/seen", "default/seen");
    await act(page);
    await page.getByRole("button", { name: "Delete…" }).click();
    await right(await command(page.getByRole("dialog"), "kubectl"));
    await page.getByRole("button", { name: "Close" }).click();
  });

  await step("a phone shows everything", async () => {
    await page.setViewportSize({ width: 390, height: 780 });
    const fits = async (name, hasOwnLayout = false) => {
      const look = () =>
        page.evaluate(() => ({
          wide: document.documentElement.scrollWidth,
          screen: document.documentElement.clientWidth,
          who: [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => `${e.tagName} ${e.className}`).join(", "),
        }));
      await eventually(`${name} is too wide`, look, ({ wide, screen }) => wide <= screen);
      if (hasOwnLayout) await accessible(page, `${name} on a telephone`, ["light"]);
    };
    /** opens opens each menu below a button, and checks that it lies within the screen. */
    const opens = async (name) => {
      const buttons = page.locator(".popover-anchor > button");
      for (let i = 0, all = await buttons.count(); i < all; i++) {
        await buttons.nth(i).click();
        const box = await page.locator(".popover").boundingBox();
        expect(box.x >= 0 && box.x + box.width <= 390, `${name}: what opens below button ${i} is at ${box.x}, ${box.width} wide`);
        await page.keyboard.press("Escape");
      }
    };
    await call(page, "POST", "/v1/manifests", failing);
    await goTo("", "node-a");
    await page.getByRole("img", { name: /^Memory: now .*iB, at most/ }).waitFor();
    await page.locator(".trouble", { hasText: long }).waitFor();
    await fits("the node");
    await goTo("pods", "Pods");
    await page.getByText("seen", { exact: true }).waitFor();
    await fits("the list of pods", true);
    await goTo("tokens", "Tokens");
    await page.getByRole("rowheader", { name: /^viewer/ }).waitFor();
    await fits("the tokens", true);
    await goTo("images", "Images");
    await act(page);
    await page.getByRole("rowheader", { name: new RegExp(IMAGE) }).waitFor();
    await fits("the images", true);
    await opens("the images");
    await page.getByRole("link", { name: "Objects" }).click();
    await page.getByRole("row", { name: /^seen long seen$/ }).waitFor();
    await fits("the objects");
    await page.getByRole("link", { name: "seen" }).first().click();
    await page.getByRole("heading", { name: "default/seen" }).waitFor();
    await page.locator(".yaml").waitFor();
    await fits("an object");
    await page.getByRole("link", { name: "Apply" }).click();
    await write(page, manifest.replace("a-word", "other-words"));
    await page.locator(".diff .old").waitFor();
    await fits("applying", true);
    await goTo("pods/default/seen", "default/seen");
    await act(page);
    await page.getByRole("img", { name: /^Timeline/ }).waitFor();
    await fits("a pod");
    await opens("a pod");
    await page.getByRole("link", { name: "Record", exact: true }).click();
    await page.locator(".record-box").waitFor();
    await fits("the record", true);
    await page.getByRole("link", { name: "Logs" }).first().click();
    await page.getByText("this is run 2").waitFor();
    await fits("a log", true);
    await opens("a log");
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByLabel("Command").fill(`sh -c "exec sh" ${long}`);
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".xterm-rows").getByText(/[#$]/).first().waitFor();
    await fits("a terminal", true);
    await page.getByRole("button", { name: /^Close the terminal/ }).click();
    await page.getByRole("link", { name: "YAML" }).click();
    await page.locator(".yaml").waitFor();
    await fits("YAML");
    await goTo(`pods/default/${long}/logs`, `default/${long}`);
    await page.locator(".log-problem").waitFor();
    await fits("a long name");
    await call(page, "DELETE", `/v1/namespaces/default/pods/${long}`);
    await page.setViewportSize({ width: 1360, height: 850 });
  });

  await step("500 pods scroll smoothly", async () => {
    const pod = (i) => ({ namespace: "default", name: `pod-${i}`, uid: `u${i}`, revision: `${i}`, phase: "POD_PHASE_RUNNING", ready: true, podIps: ["10.0.0.1"], object: { spec: { containers: [{ name: "c" }] } } });
    const body = Array.from({ length: 500 }, (_, i) => `id: ${i + 1}\nevent: ADDED\ndata: ${JSON.stringify({ type: "WATCH_TYPE_ADDED", revision: `${i + 1}`, pod: pod(i + 1) })}\n\n`).join("");
    let told = false; // nothing happens for long after it
    await page.route("**/v1/pods:watch*", (route) => told || ((told = true), route.fulfill({ contentType: "text/event-stream", body: `${body}event: SYNCED\ndata: {"type":"WATCH_TYPE_SYNCED","revision":"500"}\n\n` })));
    await goTo("pods", "Pods");
    await page.getByText("pod-1", { exact: true }).waitFor();
    const wire = await context.newCDPSession(page);
    await wire.send("Performance.enable", { timeDomain: "threadTicks" });
    const work = async () => (await wire.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
    /** It scrolls all the way down, a part in each frame. */
    const scroll = (count) =>
      page.evaluate(
        (count) =>
          new Promise((done) => {
            const all = document.documentElement.scrollHeight - innerHeight;
            let frames = 0;
            let rows = 0;
            requestAnimationFrame(function frame() {
              rows = Math.max(rows, document.querySelectorAll(".row.pod").length);
              scrollTo(0, (all * frames) / count);
              if (++frames <= count) requestAnimationFrame(frame);
              else done({ frames, rows });
            });
          }),
        count,
      );
    await best(async () => {
      const slow = Math.max(1, (await spin(page, work)) / usual);
      const before = await work();
      const { frames, rows } = await scroll(60);
      const each = ((await work()) - before) / frames / slow;
      console.log(`     ${each.toFixed(1)} ms of work for a frame, of ${smooth.toFixed(1)}, on a machine ${slow.toFixed(1)} times as slow as usual; ${rows} rows at most`);
      return [each >= smooth && `a frame takes ${each} ms of work: 60 a second have ${smooth} each`, rows >= 60 && `${rows} rows are drawn at once`];
    });
    await page.getByText("pod-99", { exact: true }).waitFor();
    await page.unroute("**/v1/pods:watch*");
  });

  await step("the documents are a click away, and have a search", async () => {
    await goTo("", "node-a");
    await page.getByRole("link", { name: "Docs" }).click();
    await page.getByRole("heading", { name: "Nodal", level: 1 }).waitFor();
    const search = page.getByRole("searchbox", { name: "Search the documents" });
    await search.fill("port-forward");
    await search.press("Enter");
    await page.getByRole("link", { name: "The command line › Logs, commands, ports and files" }).click();
    await page.getByRole("heading", { name: "Logs, commands, ports and files" }).waitFor();
    await page.getByRole("link", { name: "Reference of the API" }).click();
    await page.locator("#PodsService_GetPod summary").click();
    await page.getByRole("link", { name: "GetPodResponse" }).click();
    await page.getByRole("heading", { name: "GetPodResponse" }).waitFor();
    await page.goBack();
    await page.goBack();
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await accessible(page, `a document, ${colorScheme}`, ["light"]); // documents follow the system, not the dashboard's switch
    }
    await page.setViewportSize({ width: 390, height: 780 });
    const sizes = () => page.evaluate(() => ({ wide: document.documentElement.scrollWidth, screen: document.documentElement.clientWidth }));
    await eventually("a document is too wide for a phone", sizes, ({ wide, screen }) => wide <= screen);
    await page.getByRole("link", { name: "Pages" }).click();
    await page.getByRole("link", { name: "Metrics", exact: true }).click();
    await page.getByRole("heading", { name: "Metrics", level: 1 }).waitFor();
    await eventually("a document of wide tables is too wide for a phone", sizes, ({ wide, screen }) => wide <= screen);
    await page.setViewportSize({ width: 1360, height: 850 });
  });

  await step("the read-only port has a view that polls", async () => {
    const watched = [];
    page.on("request", (request) => /:watch/.test(request.url()) && request.url().startsWith(VIEW) && watched.push(request.url()));
    await page.goto(`${VIEW}/ui/`);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await page.getByText("Read-only port", { exact: true }).waitFor();
    await gone("the read-only port", "Read-only", "Sign out", "Images", "Objects", "Tokens", "Apply");
    await page.getByRole("link", { name: /^Pods/ }).click();
    await page.getByText("seen", { exact: true }).click();
    await page.getByRole("heading", { name: "default/seen" }).waitFor();
    await gone("a pod on the read-only port", "Logs", "Terminal", "Restart…", "Edit…", "Delete…");
    await page.getByRole("link", { name: "Events" }).click();
    await page.locator(".event-reason", { hasText: /^Started$/ }).first().waitFor();
    await call(page, "POST", "/v1/namespaces/default/pods/seen:restart", "{}");
    await page.getByText("2 restarts", { exact: true }).waitFor();
    expect(watched.length === 0, `it asks for ${watched}`);
  });

  await step("a viewer has no actions, and reads why", async () => {
    await goTo("", "node-a");
    await signOut(page);
    await page.getByLabel(/One from the node/).fill(readFileSync(VIEWER_TOKEN, "utf8").trim());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await gone("the node", "Read-only", "Tokens", "Apply");
    await page.getByRole("link", { name: /^Pods/ }).click();
    await page.getByText("seen", { exact: true }).click();
    await page.getByRole("heading", { name: "default/seen" }).waitFor();
    await gone("a pod", "Restart…", "Edit…", "Roll back…", "Delete…", "Terminal");
    await page.getByRole("link", { name: "Images" }).click();
    await page.getByRole("rowheader", { name: new RegExp(IMAGE) }).waitFor();
    await gone("the images", "Prune…", "Import…", `Remove ${IMAGE}…`);
    await goTo("objects/configmaps/default/seen", "default/seen");
    await page.locator(".yaml").waitFor();
    await gone("a ConfigMap", "Edit…", "Delete…");
    await goTo("objects/secrets/default/unseen", "default/unseen");
    await page.getByText("1 value, shown to admins only.").waitFor();
    await gone("a Secret", "Show", "Edit…", "Delete…");
    await page.goto(`${origin}/ui/pods/default/seen/terminal`);
    await page.getByText("Terminals change things, which your role may not.").waitFor();
    await page.goto(`${origin}/ui/apply`);
    await page.getByText("which your role may not.").waitFor();
    await goTo("tokens", "There is no such page");
  });
});
