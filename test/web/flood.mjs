// Ten thousand lines of a log a second.
import { best, call, story } from "./steps.mjs";

const rate = 10_000;
const watched = 6; // seconds
const bound = {
  work: 800, // ms of CPU time for each second of the log
  still: 1000, // ms between two frames, on a busy machine
  memory: 120 * 2 ** 20,
  growth: 10 * 2 ** 20, // bytes between a full page and one that has dropped as many lines again
};

const flood = `apiVersion: v1
kind: Pod
metadata: {name: flood}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "${process.env.IMAGE}", args: [flood, "${rate}"]}
`;

await story(async ({ context, page, origin, step }) => {
  const wire = await context.newCDPSession(page);
  await wire.send("Performance.enable", { timeDomain: "threadTicks" });
  const counted = page.getByText(/older lines dropped/);
  const seen = async () => {
    const [kept, gone = "0"] = (await counted.innerText()).match(/[\d,]+(?= lines)|[\d,]+(?= older)/g);
    return Number(kept.replaceAll(",", "")) + Number(gone.replaceAll(",", ""));
  };
  const used = async () => {
    await wire.send("HeapProfiler.collectGarbage");
    const { metrics } = await wire.send("Performance.getMetrics");
    const of = (name) => metrics.find((m) => m.name === name).value;
    return { heap: of("JSHeapUsedSize"), work: of("TaskDuration") * 1000 };
  };
  const frames = (seconds) =>
    page.evaluate(
      (until) =>
        new Promise((done) => {
          const took = [];
          let last = performance.now();
          const end = last + until;
          requestAnimationFrame(function frame() {
            const now = performance.now();
            took.push(now - last);
            last = now;
            if (now < end) requestAnimationFrame(frame);
            else done(took.sort((a, b) => a - b));
          });
        }),
      seconds * 1000,
    );

  await step("a page fills up with lines", async () => {
    await page.goto(process.env.LINK);
    await page.getByRole("heading", { name: "node-a" }).waitFor();
    await call(page, "POST", "/v1/manifests", flood);
    await page.goto(`${origin}/ui/pods/default/flood/logs`);
    await counted.waitFor();
  });

  await step("the page keeps pace without a stutter", async () => {
    await best(async () => {
      const before = { ...(await used()), lines: await seen(), at: Date.now() };
      const took = await frames(watched);
      const lines = (await seen()) - before.lines;
      const seconds = (Date.now() - before.at) / 1000;
      const after = await used();
      const work = (after.work - before.work) / (lines / rate);
      const nth = (share) => Math.round(took[Math.floor((took.length - 1) * share)]);
      console.log(`     ${Math.round(lines / seconds)} lines a second, ${took.length} frames in ${watched} s: half within ${nth(0.5)} ms, 95 % within ${nth(0.95)} ms, the longest ${nth(1)} ms`);
      console.log(`     ${Math.round(work)} ms of work for ${rate} lines; ${Math.round(after.heap / 2 ** 20)} MiB of memory, ${((after.heap - before.heap) / 2 ** 20).toFixed(1)} more than ${lines} lines before`);
      return [
        lines / seconds <= 0.8 * rate && `${lines} lines in ${seconds} s: the page falls behind`,
        nth(1) >= bound.still && `the page stood still for ${nth(1)} ms`,
        work >= bound.work && `${work} ms of work for ${rate} lines, at most ${bound.work} are allowed`,
        after.heap >= bound.memory && `${after.heap} bytes of memory, at most ${bound.memory} are allowed`,
        after.heap - before.heap >= bound.growth && `${after.heap - before.heap} bytes more, at most ${bound.growth} are allowed`,
      ];
    });
  });

  await step("a search works meanwhile", async () => {
    await page.getByLabel("Search the log").fill("request=1000");
    await page.locator("mark", { hasText: "request=1000" }).first().waitFor();
    await best(async () => {
      const longest = (await frames(1)).at(-1);
      return [longest >= bound.still && `the page stood still for ${longest} ms`];
    });
    await call(page, "DELETE", "/v1/namespaces/default/pods/flood");
    await page.getByText("Deleted", { exact: true }).waitFor();
  });
});
