// The page of idle shares and advice for their size: sums, filters, the change to copy, states, rights, widths.
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
beforeEach(() => Object.assign(mock, { noRightSize: null, requests: [] }));

const open = (path, options = {}) => openPage(browser, mock, { path, token: "api.token.of-an-operator", ...options });
const rows = (page) => page.locator(".table-row[data-row]");
const names = (page) => page.locator(".table-row[data-row] > :first-child").allTextContents();
// The first row in which advice is given.
const advised = (page) => rows(page).filter({ hasText: "Too large" }).first();

test("right_size.Cluster_SavingAndChange", async () => {
  const { page, context, faults } = await open("");
  await page.getByRole("link", { name: "Idle and right-size" }).click();
  await page.getByRole("heading", { level: 1, name: "Idle and right-size" }).waitFor();
  await settled(page);
  assert.match(await page.locator(".size-total").textContent(), /[\d.]+ GiB, [\d.]+ devices, [\d.,]+ EUR a day/);
  await advised(page).getByRole("button").first().click();
  const panel = page.getByRole("region", { name: "Change" });
  await panel.waitFor();
  assert.match(await panel.locator(".command").textContent(), /resources:\n {2}limits:\n {4}divvy\.dev\/(gpumem: \d+Mi {2}# or nvidia\.com\/gpumem: \d+|gpucores: \d+)/);
  assert.match(await panel.getByRole("heading").getByRole("link").getAttribute("href"), /^workloads\/[^/]+\/[^/]+\/[^/]+$/);
  assert.match(mock.requests.find((each) => each.includes("/rightsize?")), /days=14$/);
  await panel.getByRole("button", { name: "Close" }).click();
  assert.equal(await panel.count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("right_size.Row_CopiesItsChange", async () => {
  const { page, context, faults } = await openPage(browser, local, { path: "rightsize", permissions: ["clipboard-read", "clipboard-write"] });
  await settled(page);
  const row = advised(page);
  await row.getByRole("button", { name: "Copy" }).click();
  await row.getByText("Copied").waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^divvy resize \S.*( --memory \d+[GM]i| --cores \d+)+$/s);
  assert.deepEqual(faults, []);
  await context.close();
});

test("right_size.IdleFilter_OnlyIdleShares", async () => {
  const { page, context, faults } = await open("rightsize");
  await settled(page);
  const all = await names(page);
  await page.getByRole("button", { name: "Idle longer than 1 h" }).click();
  await page.waitForURL(/filter=idle%3A1h/);
  await page.reload();
  await settled(page);
  const idle = await names(page);
  assert.ok(idle.length > 0 && idle.length < all.length, `${idle.length} of ${all.length}`);
  for (const text of await rows(page).allTextContents()) assert.match(text, /\d+ (h|d)/);
  await page.getByRole("button", { name: "Too large" }).click();
  await page.waitForURL(/state%3Aadvice/);
  await page.getByRole("searchbox").fill("no such name");
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.waitForURL((url) => !url.search.includes("filter"));
  assert.equal((await names(page)).length, all.length);
  assert.deepEqual(faults, []);
  await context.close();
});

test("right_size.Choices_AreInTheAddress", async () => {
  const { page, context, faults } = await open("rightsize?days=7&sort=-limit_bytes");
  await settled(page);
  assert.equal(await page.getByLabel("Time").inputValue(), "7");
  await page.getByLabel("Time").selectOption("Last 90 days");
  await page.waitForURL(/days=90/);
  await page.getByRole("columnheader", { name: "Saving" }).getByRole("button").click();
  await page.waitForURL(/sort=-saving_bytes/);
  assert.match(await page.getByRole("link", { name: "Download CSV" }).getAttribute("href"), /api\/v1\/rightsize\.csv\?days=90$/);
  const csv = await context.request.get(`${mock.url}api/v1/rightsize.csv?days=90`);
  assert.match(await csv.text(), /^key,namespace,owner,container,/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("right_size.Agentless_IsNotKnown", async (t) => {
  const agentless = await startMock({ cluster: true, still: true, agentless: true });
  t.after(() => agentless.stop());
  const { page, context, faults } = await openPage(browser, agentless, { path: "rightsize" });
  await settled(page);
  assert.match((await rows(page).first().textContent()) ?? "", /Not known/);
  await rows(page).first().getByRole("button").first().click();
  await page.getByText("No agent reports use.").waitFor();
  assert.equal(await page.locator(".command").count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("right_size.Viewer_OwnNamespacesOnly", async () => {
  const { page, context, faults } = await open("rightsize", { token: kTeam });
  await settled(page);
  await page.getByText(", of what you see").waitFor();
  for (const name of await names(page)) assert.match(name, /^(research|sandbox)\//);
  await context.close();
  const bare = await open("rightsize", { token: "console.token.without-rights" });
  await bare.page.locator("main").getByText("You may list pods in 0 namespaces only.").waitFor();
  assert.deepEqual([...faults, ...bare.faults], []);
  await bare.context.close();
});

test("right_size.Failures_AreTold", async () => {
  mock.noRightSize = new Refusal(400, "usage", "there are more than 5000 workloads; narrow the report: add namespace=NS");
  const { page, context } = await open("rightsize");
  page.expectFailures = true;
  await page.getByText("there are more than 5000 workloads").waitFor();
  mock.noRightSize = new Refusal(503, "busy", "other reports are made for this session; ask again");
  await page.getByLabel("Time").selectOption("Last 7 days");
  await page.getByText("The console is busy").waitFor();
  mock.noRightSize = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await rows(page).first().waitFor();
  await context.close();
});

test("right_size.Nothing_SaysWhy", async (t) => {
  const empty = await startMock({ still: true, shares: 0, calm: true });
  t.after(() => empty.stop());
  const { page, context, faults } = await openPage(browser, empty, { path: "rightsize" });
  await page.getByText("No shares run now").waitFor();
  assert.deepEqual(await serious(page), []);
  assert.deepEqual(faults, []);
  await context.close();
});

for (const width of [1280, 390]) {
  test(`right_size.Width${width}_HasNoFaults`, { timeout: 90_000 }, async (t) => {
    for (const [of, options, path] of [
      [mock, { token: "api.token.of-an-operator" }, "rightsize?sort=-idle_ms"], [mock, { token: kTeam }, "rightsize?filter=state:advice"],
      [local, {}, "rightsize?days=90"], [local, { locale: "zh-CN" }, "rightsize"],
    ]) {
      await t.test(`${path} ${options.locale ?? options.token ?? ""}`, async () => {
        const { page, context, faults } = await openPage(browser, of, { ...options, path, viewport: { width, height: 844 }, colorScheme: "light" });
        await settled(page);
        await rows(page).first().getByRole("button").first().click();
        await page.locator("section.panel .facts").waitFor();
        assert.deepEqual(await serious(page), []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
        const panel = page.locator("section.panel");
        assert.equal(await panel.evaluate((each) => each.scrollWidth <= each.clientWidth), true, "text leaves the panel");
        await page.emulateMedia({ colorScheme: "dark" });
        assert.deepEqual(await serious(page, ["color-contrast"]), [], "dark");
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
  });
}
