// What pages do: sign in, live updates, keys, filters, long lists, traps in names, changes, failures.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openPage, settled, startBrowser, startMock } from "./harness.mjs";

let browser;
let mock;

before(async () => {
  browser = await startBrowser();
  mock = await startMock({ changes: true });
});
after(async () => {
  await browser?.close();
  await mock?.stop();
});
beforeEach(() => Object.assign(mock, { noStream: false, noAnswer: false, holds: false, dataDelayMs: 0 }));

const streams = () => mock.requests.filter((each) => each.includes("/api/v1/stream"));

test("login.Link_IsUsedOnceAndLeavesTheAddress", async () => {
  const { page, context, faults } = await openPage(browser, mock, { signIn: false });
  const link = mock.link();
  await page.goto(link);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.equal(page.url(), mock.url);
  assert.deepEqual(faults, []);
  await context.close();
  const second = await openPage(browser, mock, { signIn: false });
  await second.page.goto(link);
  await second.page.getByText("this link is wrong or was used already").waitFor();
  assert.ok(!second.page.url().includes("token"));
  await second.page.getByLabel("Or paste the link here").fill(mock.link());
  await second.page.getByRole("button", { name: "Open a session" }).click();
  await second.page.getByRole("heading", { name: "Overview" }).waitFor();
  await second.context.close();
});

test("session.Expires_AllTabsShowTheReason", async () => {
  const { page, context } = await openPage(browser, mock, { path: "shares" });
  await settled(page);
  const other = await openPage(browser, mock, { context, signIn: false });
  await other.page.goto(`${mock.url}devices`);
  await settled(other.page);
  await page.getByText("Live", { exact: true }).waitFor();
  await other.page.getByText("Live", { exact: true }).waitFor();
  mock.holds = true; // a refused request would end the session first
  mock.endSessions("your session ended after 12 h");
  for (const tab of [page, other.page]) await tab.getByText("your session ended after 12 h").waitFor();
  await context.close();
});

test("stream.TwoTabs_ShareOne", async () => {
  mock.requests.length = 0;
  const { page, context } = await openPage(browser, mock, { path: "shares" });
  await settled(page);
  const other = await openPage(browser, mock, { context, signIn: false });
  await other.page.goto(`${mock.url}devices`);
  await settled(other.page);
  await page.waitForFunction(() => document.querySelector(".is-live"), null, { polling: 100 });
  await other.page.waitForFunction(() => document.querySelector(".is-live"), null, { polling: 100 });
  await waitUntil(() => mock.streams.size === 1 && [...mock.streams][0].topics.includes("devices"));
  const text = () => other.page.locator(".table-row[data-row]").first().textContent();
  const before = await text();
  await waitUntil(async () => (await text()) !== before);
  assert.equal(mock.streams.size, 1);
  await page.close(); // the tab that has the stream goes; the other one takes over
  await waitUntil(() => mock.streams.size === 1 && !streams().at(-1).includes("shares"));
  await context.close();
});

test("stream.Refused_ListsArePolled", async () => {
  mock.noStream = true;
  const { page, context } = await openPage(browser, mock, { path: "devices" });
  page.expectFailures = true;
  await settled(page);
  await page.getByText("Every 5 s").waitFor();
  const lists = () => mock.requests.filter((each) => each.includes("/devices?")).length;
  const before = lists();
  await waitUntil(() => lists() > before + 1);
  await context.close();
});

test("names.Traps_AreTextAndDoNotBreakTheLayout", async () => {
  const { page, context, faults } = await openPage(browser, mock, { path: "shares?sort=name" });
  await page.goto(`${mock.url}shares`);
  await settled(page);
  await page.getByText("<script>alert(1)</script>", { exact: true }).waitFor();
  await page.getByText("‹202E›gnp.exe").waitFor();
  for (const id of ["t-1", "t-2", "t-3", "t-4", "t-6", "t-8"]) {
    await page.goto(`${mock.url}shares/${id}`);
    await settled(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, id);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img").length), 0);
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("absent.Value_IsNotKnownAndNeverZero", async () => {
  const { page, context } = await openPage(browser, mock, { path: "shares/t-3" });
  await settled(page);
  const used = page.locator(".fact", { has: page.getByText("Used", { exact: true }) }).first();
  assert.match(await used.textContent(), /—/);
  assert.doesNotMatch(await used.textContent(), /0 GiB/);
  await context.close();
});

test("keys.Walk_ReachesAPageWithoutAMouse", async () => {
  const { page, context } = await openPage(browser, mock, {});
  await settled(page);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByRole("heading", { level: 1, name: "Shares" }).waitFor();
  await settled(page);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  const focused = () => page.evaluate(() => document.activeElement?.closest("[data-row]")?.getAttribute("data-row"));
  await waitUntil(async () => (await focused()) === "1");
  await page.keyboard.press("Enter");
  await page.waitForURL(/shares\/t-/);
  await settled(page);
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("state:faulty");
  await page.waitForURL(/filter=state%3Afaulty/);
  await page.getByText("1 device", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await context.close();
});

test("keys.Off_LettersDoNothing", async () => {
  const { page, context } = await openPage(browser, mock, { path: "shares" });
  await settled(page);
  await page.keyboard.press("?");
  await page.getByLabel("Keys of one letter are on").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.keyboard.press("?");
  assert.ok(page.url().endsWith("/shares"));
  assert.equal(await page.getByRole("dialog").count(), 0);
  await context.close();
});

test("list.FilterAndSort_AreInTheAddress", async () => {
  const { page, context } = await openPage(browser, mock, { path: "shares" });
  await settled(page);
  await page.getByRole("columnheader", { name: "Used" }).getByRole("button").click();
  await page.waitForURL(/sort=-used_bytes/);
  await page.getByRole("button", { name: "Running" }).click();
  await page.waitForURL(/filter=state%3Arunning/);
  await page.reload();
  await settled(page);
  assert.equal(await page.getByRole("columnheader", { name: "Used" }).getAttribute("aria-sort"), "descending");
  assert.equal(await page.getByRole("searchbox").inputValue(), "state:running");
  await page.getByRole("searchbox").fill("nonsense:x");
  await page.getByText("unknown field nonsense").waitFor();
  await page.getByText(/Accepted: .*limit_bytes/).waitFor();
  await page.getByRole("searchbox").fill("no-such-share");
  await page.getByText("Nothing matches the filter").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await settled(page);
  await context.close();
});

test("list.HiddenColumn_StaysHidden", async () => {
  const { page, context } = await openPage(browser, mock, { path: "shares" });
  await settled(page);
  await page.getByText("Columns", { exact: true }).first().click();
  await page.getByLabel("Throttled").uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "Throttled" }).waitFor({ state: "detached" });
  await page.reload();
  await settled(page);
  assert.equal(await page.getByRole("columnheader", { name: "Throttled" }).count(), 0);
  assert.equal(await page.getByRole("columnheader", { name: "Limit", exact: true }).count(), 1);
  await context.close();
});

test("list.TenThousandShares_AtMost60RowsInDocument", { timeout: 60_000 }, async (t) => {
  const many = await startMock({ shares: 10_000 });
  t.after(() => many.stop());
  const { page, context, faults } = await openPage(browser, many, { path: "shares", viewport: { width: 1280, height: 2400 } });
  await settled(page);
  const rows = () => page.locator(".table-row[data-row]").count();
  const scroller = page.locator(".table-scroll");
  for (const part of [0, 0.25, 0.5, 1]) {
    const first = await scroller.evaluate((box, to) => {
      box.scrollTop = box.scrollHeight * to;
      return Math.floor(box.scrollTop / 32) + 1;
    }, part);
    await page.locator(`[data-row="${first}"]`).waitFor();
    const count = await rows();
    assert.ok(count > 20 && count <= 60, `${count} rows`);
  }
  assert.ok(Number(await page.locator(".table-row[data-row]").last().getAttribute("data-row")) > 9900);
  assert.ok(Number(await page.getByRole("table").getAttribute("aria-rowcount")) > 9900);
  assert.deepEqual(faults, []);
  await context.close();
});

test("share.Ends_PageSaysGone", async () => {
  const { page, context } = await openPage(browser, mock, { path: "shares/t-11" });
  page.expectFailures = true;
  await settled(page);
  await page.getByText("Live", { exact: true }).waitFor();
  mock.endShare("t-11");
  await page.getByText(/This object is gone since/).waitFor();
  await page.getByText("is not there (any more)").waitFor();
  assert.ok(await page.getByRole("heading", { name: "Memory", exact: true }).isVisible());
  await context.close();
});

test("data.Old_PageSaysHowOld", async () => {
  const { page, context } = await openPage(browser, mock, { path: "devices" });
  await settled(page);
  await page.getByText("gpu-3").waitFor(); // the source that does not answer, with its reason
  await page.getByText(/connection refused/).waitFor();
  assert.equal(await page.getByText(/This data is/).count(), 0);
  mock.dataDelayMs = 45_000;
  await page.getByText(/This data is 4\d s old/).waitFor();
  await context.close();
});

test("server.Silent_PageSaysSoAndRecovers", async () => {
  const { page, context } = await openPage(browser, mock, { path: "devices" });
  page.expectFailures = true;
  await page.getByText("Live", { exact: true }).waitFor();
  mock.noAnswer = true;
  for (const stream of mock.streams) stream.response.destroy();
  await page.getByText(/The console does not answer|Every 5 s/).first().waitFor();
  mock.noAnswer = false;
  await page.getByText("Live", { exact: true }).waitFor({ timeout: 25_000 });
  await context.close();
});

test("change.Resize_ShowsEffectsFirst", async () => {
  const { page, context, faults } = await openPage(browser, mock, { path: "shares/t-12" });
  await settled(page);
  const before = mock.world.shares.get("t-12").limit_bytes;
  await page.getByLabel("Memory per device").fill("30Gi");
  await page.getByRole("button", { name: "Show effects" }).click();
  await page.getByText(/memory limit of embed-12: \d+ GiB -> 30 GiB/).waitFor();
  assert.equal(mock.world.shares.get("t-12").limit_bytes, before);
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Done.").waitFor();
  assert.equal(mock.world.shares.get("t-12").limit_bytes, 30 * 1024 ** 3);
  await page.getByLabel("Memory per device").fill("1Mi");
  await page.getByRole("button", { name: "Show effects" }).click();
  await page.getByText("below-used").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("change.Off_PageSaysHowToEnable", async (t) => {
  const calm = await startMock({ calm: true, base: "/gpu/" });
  t.after(() => calm.stop());
  const { page, context, faults } = await openPage(browser, calm, { path: "shares/t-1" });
  await settled(page);
  await page.getByText("start the console with --allow-changes").waitFor();
  assert.ok(page.url().startsWith(`${calm.origin}/gpu/shares/t-1`)); // all links keep the base path
  await page.getByRole("link", { name: "Waiting" }).click();
  await page.getByText("No request waits").waitFor();
  assert.ok(page.url().endsWith("/gpu/waiting"));
  await page.goBack();
  await page.getByText("start the console with --allow-changes").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("planner.Fix_FillsTheForm", async () => {
  const { page, context, faults } = await openPage(browser, mock, { path: "planner" });
  await page.getByLabel("Memory per device").fill("200Gi");
  await page.getByRole("button", { name: "Where would it fit?" }).click();
  await page.getByText("Never fits here").waitFor();
  await page.getByRole("button", { name: "Try" }).first().click();
  await page.getByText("Fits now").waitFor();
  assert.notEqual(await page.getByLabel("Memory per device").inputValue(), "200Gi");
  assert.match(page.url(), /memory=/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("planner.ServedModel_FillsTheRequest", async () => {
  const { page, context, faults } = await openPage(browser, mock, { path: "planner" });
  await page.getByRole("combobox", { name: "Served model" }).fill("llama-3-8b");
  await page.getByRole("button", { name: "Compute the request" }).click();
  await page.getByText("fits on h100").waitFor();
  await page.waitForURL(/memory=/);
  assert.match(await page.getByLabel("Memory per device").inputValue(), /^\d+Mi$/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("about.Licences_HaveTheirTexts", async () => {
  const { page, context, faults } = await openPage(browser, mock, { path: "about" });
  await page.getByText("Software in this page").click();
  const uplot = page.locator("details details", { hasText: "uplot" });
  await uplot.locator("summary").click();
  await uplot.getByText("Permission is hereby granted").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("history.Drag_ZoomsInTheAddress", async () => {
  const { page, context, faults } = await openPage(browser, mock, { path: `devices/${mock.world.devices[0].id}` });
  await page.locator(".u-over").first().waitFor();
  // In one step: the chart is drawn again with each answer.
  const box = await page.evaluate(() => {
    const plot = document.querySelector(".u-over");
    plot.scrollIntoView({ block: "center" });
    const { x, y, width } = plot.getBoundingClientRect();
    return { x, y, width };
  });
  await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/from=\d+&to=\d+/);
  await page.getByRole("button", { name: "1 h", exact: true }).click();
  await page.waitForURL((url) => !url.search.includes("from="));
  await page.getByRole("button", { name: "Table" }).click();
  await page.getByRole("columnheader", { name: "Memory: used" }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("events.NotFollowed_CountsNewOnes", async () => {
  const { page, context } = await openPage(browser, mock, { path: "events" });
  await settled(page);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Follow" }).click();
  const share = mock.world.shares.get("t-13");
  mock.publish("events", [mock.world.event("changed", share, "a change for this test")]);
  await page.getByRole("button", { name: /Show \d+ new event/ }).click();
  await page.getByText("a change for this test").first().waitFor();
  await context.close();
});

async function waitUntil(condition, boundMs = 12_000) {
  const end = Date.now() + boundMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not reached within ${boundMs} ms: ${condition}`);
    await new Promise((done) => setTimeout(done, 50)); // the pause between two looks, not a wait for an effect
  }
}
