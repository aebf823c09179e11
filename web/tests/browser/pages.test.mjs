// All pages, on two widths and in two colour schemes: accessibility, console, network, layout.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, serious, settled, startBrowser, startMock } from "./harness.mjs";

let browser;
let mock;
let cluster;

before(async () => {
  browser = await startBrowser();
  mock = await startMock({ changes: true, still: true });
  cluster = await startMock({ cluster: true, still: true });
});
after(async () => {
  await browser?.close();
  await mock?.stop();
  await cluster?.stop();
});

function paths() {
  return {
    overview: "", devices: "devices", device: `devices/${mock.world.devices[2].id}`, faulty: `devices/${mock.world.devices[5].id}`,
    shares: "shares", share: "shares/t-9", long: "shares/t-4", unknown: "shares/t-3", waiting: "waiting?pick=studio/4711",
    planner: "planner?memory=70Gi&gpus=2", empty: "planner", events: "events", about: "about", usage: "usage?range=7d", missing: "nowhere", gone: "shares/t-9999",
  };
}

function clusterPaths() {
  const bound = [...cluster.world.shares.values()][3];
  return {
    overview: "", waiting: "waiting", pod: "waiting/research/llama-70b-0", gated: "waiting/research/sweep-41", never: "waiting/batch/render-big",
    unscheduled: "waiting/sandbox/demo-9", bound: `waiting/${bound.name}`, nodes: "nodes", node: "nodes/gpu-0", unreadable: "nodes/gpu-9",
    devices: "devices", device: `devices/${cluster.world.devices[2].id}`, shares: "shares", share: `shares/${bound.id}`,
    workloads: "workloads", workload: "workloads/research/JobSet/sweep", queues: "queues", queue: "queues/nlp", fault: "queues/batch",
    pools: "pools", teams: "teams", models: "models", planner: "planner", events: "events", about: "about", usage: "usage",
  };
}

async function expectNoFaults(t, of, list, width) {
  const { page, context, faults } = await openPage(browser, of, { viewport: { width, height: 844 }, colorScheme: "light" });
  for (const [name, path] of Object.entries(list)) {
    await t.test(name, async () => {
      page.expectFailures = name === "gone"; // its 404 is an error line of the browser's own
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(of.url + path);
      await settled(page);
      for (const closed of await page.locator("details.reason > summary").all()) await closed.click();
      assert.deepEqual(await serious(page), []);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, "the page scrolls sideways");
      await page.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await serious(page, ["color-contrast"]), [], "dark"); // nothing else depends on the scheme
    });
  }
  assert.deepEqual(faults, []);
  await context.close();
}

for (const width of [1280, 390]) {
  test(`pages.Width${width}_HaveNoFaults`, { timeout: 150_000 }, (t) => expectNoFaults(t, mock, paths(), width));
  test(`cluster.Width${width}_HasNoFaults`, { timeout: 150_000 }, (t) => expectNoFaults(t, cluster, clusterPaths(), width));
}

test("login.BothSchemes_HaveNoFaults", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, context } = await openPage(browser, mock, { signIn: false, colorScheme });
    await page.goto(mock.url);
    await page.getByRole("heading", { name: "Sign in with a link" }).waitFor();
    assert.deepEqual(await serious(page), []);
    await context.close();
  }
});

test("help.Open_HasNoFaults", async () => {
  const { page, context } = await openPage(browser, mock, { path: "shares" });
  await settled(page);
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  assert.deepEqual(await serious(page), []);
  await context.close();
});

test("chinese.AllPages_HaveNoEnglishLeft", async () => {
  const { page, context, faults } = await openPage(browser, mock, { locale: "zh-CN", path: "devices" });
  await page.getByRole("heading", { name: "设备", exact: true }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN");
  for (const name of ["概览", "份额", "等待", "用量", "规划", "事件", "关于"]) {
    await page.getByRole("navigation", { name: "页面" }).getByRole("link", { name }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("textSpacing.ZoomedTwice_StaysUsable", async () => {
  // 200 % zoom of a 1280 px window is a window of 640 CSS px.
  const { page, context } = await openPage(browser, mock, { viewport: { width: 640, height: 400 }, path: "shares" });
  await settled(page);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  assert.ok(await page.locator(".table-row[data-row]").count() > 2);
  await context.close();
});

test("forcedColors.Bars_StayVisible", async () => {
  const { page, context } = await openPage(browser, mock, { forcedColors: "active", reducedMotion: "reduce", path: "devices" });
  await settled(page);
  const [used, ground] = await page.evaluate(() => {
    const meter = document.querySelector(".meter");
    return [getComputedStyle(meter.querySelector(".meter-used")).backgroundColor, getComputedStyle(meter).backgroundColor];
  });
  assert.notEqual(used, ground);
  await context.close();
});
