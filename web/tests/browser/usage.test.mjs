// The page of usage and cost: sums, order and filter in the address, times, states, rights, widths and schemes.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal } from "../../mock/answers.mjs";
import { openPage, serious, settled, startBrowser, startMock } from "./harness.mjs";

const kTeam = "console.token.of-a-team";
let browser;
let mock;
let local;

before(async () => {
  browser = await startBrowser();
  mock = await startMock({ cluster: true, still: true, prices: true, login: "token" });
  local = await startMock({ still: true });
});
after(async () => {
  await browser?.close();
  await mock?.stop();
  await local?.stop();
});
beforeEach(() => Object.assign(mock, { noUsage: null, requests: [] }));

const open = (path, options = {}) => openPage(browser, mock, { path, token: "api.token.of-an-operator", ...options });
const names = (page) => page.locator(".table-row[data-row] > :first-child").allTextContents();
const sumOf = (page, name) => page.locator(".usage-sums tr", { has: page.getByRole("rowheader", { name, exact: true }) }).textContent();
const asked = (of) => of.requests.filter((each) => each.includes("/usage?")).map((each) => new URLSearchParams(each.split("?")[1]));

test("usage.Cluster_SumsByTeamWithCost", async () => {
  const { page, context, faults } = await open("");
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor();
  await settled(page);
  assert.ok((await names(page)).includes("platform"));
  await page.getByText("none", { exact: true }).waitFor(); // shares without a team
  for (const name of ["Used", "Idle", "Allocated", "Unallocated", "Total"]) assert.match(await sumOf(page, name), /[\d,.]+ h.*EUR/, name);
  await page.getByText("No price matches these models: NVIDIA L40S").waitFor();
  assert.equal(await page.getByText("divvy console --prices FILE").count(), 0);
  const [words] = asked(mock);
  assert.equal(words.get("by"), "team");
  assert.equal(Math.floor((words.get("to") - words.get("from")) / 3_600_000), 23); // and the part of this hour, which may be 0
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.Choices_AreInTheAddress", async () => {
  const { page, context, faults } = await open("usage");
  await settled(page);
  await page.getByLabel("Sum by").selectOption("Share");
  await page.waitForURL(/by=share/);
  await page.getByLabel("Time").selectOption("Last 7 days");
  await page.waitForURL(/range=7d/);
  await page.locator(".days li").nth(7).waitFor(); // 7 days lie in 8 days of UTC
  await page.getByRole("columnheader", { name: "Idle", exact: true }).getByRole("button").click();
  await page.waitForURL(/sort=-idle_device_hours/);
  await page.getByRole("searchbox").fill("sandbox demo");
  await page.waitForURL(/filter=sandbox&filter=demo/);
  await page.reload();
  await settled(page);
  const hours = (await page.locator(".table-row[data-row] > :nth-child(4)").allTextContents()).map((text) => Number.parseFloat(text));
  const known = hours.filter((each) => !Number.isNaN(each));
  assert.ok(known.length > 3);
  assert.deepEqual(known, [...known].sort((a, b) => b - a));
  assert.ok(hours.slice(known.length).every(Number.isNaN)); // what is not known comes last
  assert.ok((await names(page)).every((name) => name.startsWith("sandbox/demo")));
  await page.getByRole("searchbox").fill("no-such-share");
  await page.getByText("Nothing matches the filter").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.getByRole("searchbox").fill("sandbox/demo-23");
  await page.waitForURL(/filter=sandbox%2Fdemo-23/);
  await page.getByRole("link", { name: "sandbox/demo-23" }).click();
  await page.waitForURL(/shares\/sandbox\/demo-23/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.EveryColumn_SortsWithoutARequest", async () => {
  const { page, context, faults } = await open("usage?by=model", { viewport: { width: 1600, height: 800 } });
  await settled(page);
  const before = asked(mock).length;
  const heads = page.locator(".sort");
  assert.equal(await heads.count(), 8);
  for (let at = 0; at < await heads.count(); at += 1) {
    await heads.nth(at).click();
    await page.locator("[aria-sort=ascending], [aria-sort=descending]").waitFor();
    assert.notEqual(await page.locator("[role=columnheader]").nth(at).getAttribute("aria-sort"), "none");
  }
  assert.equal(asked(mock).length, before);
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.EachKey_LeadsToItsPage", async () => {
  const { page, context, faults } = await open("usage");
  const links = {
    team: /shares\?filter=team%3D/, namespace: /shares\?filter=namespace%3D/, queue: /queues\//, owner: /workloads\//,
    model: /devices\?filter=model%3D/, device: /devices\/gpu-/, share: /shares\//,
  };
  for (const [by, link] of Object.entries(links)) {
    await page.goto(`${mock.url}usage?by=${by}`);
    await settled(page);
    await page.locator(".table-row[data-row] .row-link").first().click();
    await page.waitForURL(link);
    await settled(page);
    assert.equal(await page.getByText(/^(Nothing matches the filter|Not found|No such page)$/).count(), 0, by);
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.Csv_IsDownloaded", async () => {
  const { page, context, faults } = await open("usage?by=queue&range=last-month");
  await settled(page);
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download CSV" }).click();
  assert.equal((await download).suggestedFilename(), "usage.csv");
  const words = new URLSearchParams(mock.requests.find((each) => each.includes("usage.csv?")).split("?")[1]);
  assert.equal(words.get("by"), "queue");
  for (const word of ["from", "to"]) assert.match(new Date(Number(words.get(word))).toISOString(), /-01T00:00:00.000Z$/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.Local_HasThreeKeysAndSaysHowToPrice", async () => {
  const { page, context, faults } = await openPage(browser, local, { path: "usage?by=team" });
  await settled(page);
  assert.deepEqual(await page.getByLabel("Sum by").locator("option").allTextContents(), ["Share", "Device", "Model"]);
  assert.equal(await page.getByLabel("Sum by").inputValue(), "share");
  await page.getByText("divvy console --prices FILE").waitFor();
  assert.equal(await page.getByRole("columnheader", { name: /cost/i }).count(), 0);
  const row = page.getByRole("row", { name: /gnp\.exe/ }); // its agent reports no use
  assert.match(await row.textContent(), /—/);
  assert.doesNotMatch(await row.textContent(), /0\.0 h/);
  await page.getByText("<script>alert(1)</script>", { exact: true }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.Agentless_IsNotKnown", async (t) => {
  const agentless = await startMock({ cluster: true, still: true, agentless: true });
  t.after(() => agentless.stop());
  const { page, context, faults } = await openPage(browser, agentless, { path: "usage?range=7d" });
  await settled(page);
  await page.locator(".days li").first().waitFor();
  for (const name of ["Used", "Idle"]) assert.match(await sumOf(page, name), /—/);
  assert.match(await sumOf(page, "Use not known"), /[\d,.]+ h/);
  assert.equal(await page.locator(".bar-used, .bar-idle").count(), 0);
  assert.ok(await page.locator(".bar-allocated").count() > 7);
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.Viewer_SeesNoCapacity", async () => {
  const { page, context, faults } = await open("usage?by=namespace", { token: kTeam });
  await settled(page);
  await page.getByText(", of what you see").waitFor();
  assert.deepEqual((await names(page)).sort(), ["research", "sandbox"]);
  for (const name of ["Unallocated", "Total"]) assert.match(await sumOf(page, name), /—.*—/);
  await context.close();
  const bare = await open("usage", { token: "console.token.without-rights" });
  await bare.page.getByText("Nothing was allocated in this time").waitFor();
  await bare.page.locator("main").getByText("You may list pods in 0 namespaces only.").waitFor();
  assert.deepEqual([...faults, ...bare.faults], []);
  await bare.context.close();
});

test("usage.Nothing_SaysWhy", async (t) => {
  const empty = await startMock({ still: true, shares: 0, calm: true });
  t.after(() => empty.stop());
  const { page, context, faults } = await openPage(browser, empty, { path: "usage?range=month" });
  await page.getByText("Nothing was allocated in this time").waitFor();
  await page.getByText("Usage is recorded while the console runs").waitFor();
  assert.deepEqual(await serious(page), []);
  assert.deepEqual(faults, []);
  await context.close();
});

test("usage.Failures_AreTold", async () => {
  mock.noUsage = new Refusal(403, "forbidden", "you may not list pods in any namespace");
  const { page, context } = await open("usage");
  page.expectFailures = true;
  await page.getByText("Not allowed").waitFor();
  await page.getByText("you may not list pods in any namespace").waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
  mock.noUsage = new Refusal(503, "busy", "16 questions are open; try again in a second");
  await page.getByLabel("Sum by").selectOption("Queue");
  await page.getByText("The console is busy").waitFor();
  assert.equal(await page.locator(".table-row").count(), 0);
  mock.noUsage = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "nlp" }).waitFor();
  mock.noUsage = new Refusal(400, "usage", "more than 100000 rows; narrow the time");
  await page.getByLabel("Time").selectOption("Last month");
  await page.getByText("more than 100000 rows; narrow the time").first().waitFor();
  assert.equal(await page.locator(".table-row").count(), 0); // nothing of the time before
  await context.close();
});

test("usage.ManyShares_AtMost60RowsInDocument", { timeout: 60_000 }, async (t) => {
  const many = await startMock({ shares: 3000, still: true });
  t.after(() => many.stop());
  const { page, context, faults } = await openPage(browser, many, { path: "usage" });
  await settled(page);
  await page.locator(".table-row[data-row]").first().waitFor();
  for (const key of ["j", "j", "k"]) await page.keyboard.press(key);
  await page.waitForFunction(() => document.activeElement?.closest("[data-row]")?.getAttribute("data-row") === "0", null, { polling: 100 });
  await page.locator(".table-scroll").evaluate((box) => { box.scrollTop = box.scrollHeight; });
  await page.locator('[data-row="2999"]').waitFor();
  const count = await page.locator(".table-row[data-row]").count();
  assert.ok(count > 5 && count <= 60, `${count} rows`);
  assert.deepEqual(faults, []);
  await context.close();
});

for (const width of [1280, 390]) {
  test(`usage.Width${width}_HasNoFaults`, { timeout: 90_000 }, async (t) => {
    for (const [of, options, path] of [
      [mock, { token: "api.token.of-an-operator" }, "usage?by=share&range=30d"], [mock, { token: kTeam }, "usage?by=device"],
      [local, {}, "usage?range=7d"], [local, { locale: "zh-CN" }, "usage?range=last-month"],
    ]) {
      await t.test(`${path} ${options.locale ?? options.token ?? ""}`, async () => {
        const { page, context, faults } = await openPage(browser, of, { ...options, path, viewport: { width, height: 844 }, colorScheme: "light" });
        await settled(page);
        assert.deepEqual(await serious(page), []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
        const table = page.locator(".usage-sums");
        assert.equal(await table.evaluate((each) => each.scrollWidth <= each.parentElement.clientWidth), true, "sums leave their panel");
        await page.emulateMedia({ colorScheme: "dark" });
        assert.deepEqual(await serious(page, ["color-contrast"]), [], "dark");
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  });
}
