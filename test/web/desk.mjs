// What helps at work with many pods: groups, files of tables, long logs, containers for debugging, and edits beside others.
import { readFileSync } from "node:fs";
import { accessible, act, call, eventually, expect, story, write } from "./steps.mjs";

const { LINK, IMAGE } = process.env;

const long = "a-very-long-word-".repeat(60);
const speak = `for i in 1 2 3 4 5; do echo before $i; done; echo needle; for i in 1 2 3 4 5; do echo after $i; done; echo ${long}; sleep 1000 & trap "exit 0" TERM; wait`;
const pod = (name, app, labels = "") => `apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${app}${labels}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: ${IMAGE}
    command: [sh, -c, ${JSON.stringify(speak)}]
    env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    ports: [{containerPort: 8080}]
    readinessProbe: {exec: {command: ["true"]}}
    resources: {limits: {memory: 64Mi}}
  volumes: [{name: empty, emptyDir: {}}]
`;

await story(async ({ page, origin, step }) => {
  const goTo = async (path, heading) => {
    await page.goto(`${origin}/ui/${path}`);
    await page.getByRole("heading", { name: heading }).first().waitFor();
  };

  await step("pods stand in groups", async () => {
    await page.goto(LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    for (const [name, app] of [["cart", "shop"], ["till", "shop"], ["store", "db"]]) await call(page, "POST", "/v1/manifests", pod(name, app));
    await page.getByRole("link", { name: "Pods" }).click();
    await page.getByLabel("Group").selectOption("By app");
    const rows = page.locator(".row.group, .row.pod");
    const names = () => rows.evaluateAll((all) => all.map((row) => row.querySelector("b, a").textContent).sort());
    await eventually("the rows are", names, (all) => all.join() === "cart,db,shop,store,till");
    await page.locator(".row.group", { hasText: "shop" }).getByText("2 pods").waitFor();
    expect(new URL(page.url()).searchParams.get("group") === "app", `the address is ${page.url()}`);
    await accessible(page, "pods in groups");
  });

  await step("the list is saved as a file", async () => {
    await page.getByRole("button", { name: "Export" }).click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
    expect(file.suggestedFilename() === "node-a-pods.csv", `the file is ${file.suggestedFilename()}`);
    expect(lines.length === 4 && lines[0].startsWith("namespace,name,state,"), `the file has ${lines.length} lines and begins ${lines[0]}`);
    expect(lines.slice(1).every((line) => /^default,(cart|till|store),/.test(line)), lines.join("\n"));
  });

  await step("commands are shown once they are asked for", async () => {
    const offered = page.getByRole("button", { name: "API" });
    expect((await offered.count()) === 0, "commands are offered unasked");
    await page.getByRole("button", { name: "Other clients" }).click();
    await offered.first().waitFor();
    await page.reload();
    await offered.first().waitFor();
    await page.getByRole("button", { name: "Other clients" }).click();
    await offered.first().waitFor({ state: "detached" });
  });

  await step("a match in a log has the lines around it", async () => {
    await goTo("pods/default/cart/logs?since=all", "default/cart");
    const lines = page.locator(".log-row .log-text");
    const shown = (want) => eventually(`the log is not ${want}`, () => lines.allInnerTexts(), (all) => all.join() === want.join());
    await lines.filter({ hasText: "after 5" }).waitFor();
    await page.getByLabel("Search the log").fill("needle");
    await shown(["needle"]);
    await page.getByLabel("Lines around").selectOption("3 lines around");
    await shown(["before 3", "before 4", "before 5", "needle", "after 1", "after 2", "after 3"]);
    await page.getByText(/^1 of 12 lines$/).waitFor();
    expect(new URL(page.url()).searchParams.get("around") === "3", `the address is ${page.url()}`);
    await accessible(page, "a match with the lines around it");
    await page.getByLabel("Search the log").fill("");
  });

  await step("long lines wrap", async () => {
    const row = page.locator(".log-row", { hasText: "a-very-long-word" });
    await row.waitFor();
    const size = () => row.evaluate((one) => ({ rows: one.offsetHeight / 20, over: one.closest(".log-box").scrollWidth - one.closest(".log-box").clientWidth }));
    await eventually("the long line is", size, ({ rows, over }) => rows === 1 && over > 0);
    await page.getByRole("button", { name: "Wrap" }).click();
    await eventually("the wrapped line is", size, ({ rows, over }) => rows > 4 && over <= 0);
    // The log is as long as its rows, so that its end can be seen.
    const gap = () => page.locator(".log-box").evaluate((box) => box.querySelector(".log-all").getBoundingClientRect().bottom - [...box.querySelectorAll(".log-row")].at(-1).getBoundingClientRect().bottom);
    await eventually("behind the last line is", gap, (px) => Math.abs(px) < 2);
    await accessible(page, "wrapped lines");
    await page.getByRole("button", { name: "Wrap" }).click();
  });

  await step("a container for debugging starts beside another, and opens", async () => {
    await act(page);
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.getByRole("button", { name: "Debug…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Image with a shell").fill(IMAGE);
    await dialog.getByText(`kubectl debug -it cart -n default --image=${IMAGE} --target=main -- sh`).waitFor();
    await accessible(page, "the question for a container");
    await dialog.getByRole("button", { name: "Start and open" }).click();
    const screen = page.locator(".xterm-rows");
    await screen.getByText(/[#$]/).first().waitFor();
    await page.locator(".terminal-box").click();
    await page.keyboard.type("echo it is $((40+2)); ps\n");
    await screen.getByText("it is 42").waitFor();
    await screen.getByText(/sleep 1000/).first().waitFor(); // a process of the container beside it
    await page.getByRole("button", { name: "debugger-1: attached" }).waitFor();
  });

  await step("an edit does not overwrite what others have changed meanwhile", async () => {
    await page.getByRole("link", { name: "Pods" }).click();
    await page.getByRole("link", { name: "store" }).click();
    await page.getByRole("link", { name: "Edit…" }).click();
    await page.locator(".cm-content").getByText("terminationGracePeriodSeconds").waitFor();
    await page.locator(".outcomes").getByText("unchanged").waitFor(); // what the editor leaves out comes back
    expect(!/protocol|failureThreshold|terminationMessage|requests/.test(await page.locator(".cm-content").innerText()), "defaults are shown that nobody has written");
    await call(page, "POST", "/v1/manifests", pod("store", "db", ", by: another"));
    await write(page, pod("store", "db", ", by: me"));
    const apply = page.getByRole("button", { name: /^Apply Ctrl/ });
    await page.locator(".diff .old", { hasText: "another" }).waitFor();
    await apply.click();
    await page.getByText("pod default/store has changed since it was read here.").waitFor();
    await accessible(page, "an edit that is too late");
    await page.getByRole("button", { name: "plan against the present state" }).click();
    await page.locator(".diff .new", { hasText: "me" }).waitFor();
    await apply.click();
    await page.getByRole("heading", { name: "Applied" }).waitFor();
    for (const name of ["cart", "till", "store"]) await call(page, "DELETE", `/v1/namespaces/default/pods/${name}?gracePeriodSeconds=0`);
  });
});
