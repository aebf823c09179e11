// What the pages of a cluster do: from the overview to the reasons of a pod, queues, links both ways, the planner.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, settled, startBrowser, startMock } from "./harness.mjs";

let browser;
let mock;

before(async () => {
  browser = await startBrowser();
  mock = await startMock({ cluster: true, still: true });
});
after(async () => {
  await browser?.close();
  await mock?.stop();
});

const open = (path, options = {}) => openPage(browser, mock, { path, ...options });

test("waiting.Pod_IsTwoClicksFromTheOverview", async () => {
  const { page, context, faults } = await open("");
  await page.getByText("12 nodes, 96 devices, 1 unhealthy").waitFor();
  for (const kind of ["Waits for room", "Waits for quota", "Never fits"]) await page.locator(".counts").getByText(kind).waitFor();
  await page.locator(".counts").getByRole("link", { name: "Waits for room" }).click();
  await page.getByRole("link", { name: "llama-70b-0", exact: true }).click();
  await page.getByText("Fits on no node now").waitFor();
  await page.getByText("memory 76Gi -> 16Gi").waitFor();
  await page.getByText("fits 3 nodes").waitFor();
  await page.getByText("Would fit if these pods ended").waitFor();
  assert.ok(page.url().endsWith("/waiting/research/llama-70b-0"));
  assert.deepEqual(faults, []);
  await context.close();
});

test("waiting.Reasons_OpenToNodesAndDevices", async () => {
  const { page, context, faults } = await open("waiting/research/llama-70b-0");
  const group = page.locator("details.reason", { hasText: "too few devices have enough free" });
  await group.locator("summary").getByText("8 nodes").waitFor();
  await group.locator("summary").click();
  await group.getByRole("link", { name: "gpu-0", exact: true }).waitFor();
  await group.getByText("not enough free memory").first().waitFor();
  await group.getByRole("link", { name: /^GPU-/ }).first().click();
  await page.waitForURL(/devices\/gpu-0\/GPU-/);
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("waiting.Kinds_SayWhy", async () => {
  const { page, context, faults } = await open("waiting/research/sweep-41");
  await page.getByText("Waits for its quota; nodes would fit").waitFor();
  await page.goto(`${mock.url}waiting/batch/render-big`);
  await page.getByText("Never fits here").waitFor();
  await page.goto(`${mock.url}waiting/serving/chat-canary`);
  await page.getByText("Held by scheduling gate").first().waitFor();
  await page.getByText("Would fit").waitFor();
  assert.equal(await page.getByText("Fits now").count() + await page.getByText("No single change").count(), 0);
  await page.goto(`${mock.url}waiting/sandbox/demo-9`);
  await page.getByText("default-scheduler").waitFor();
  await page.goto(`${mock.url}waiting/batch/no-such-pod`);
  page.expectFailures = true;
  await page.getByText("pod batch/no-such-pod is not there").waitFor();
  assert.equal(faults.filter((each) => !each.includes("404")).length, 0);
  await context.close();
});

test("share.Links_LeadBothWays", async () => {
  const share = [...mock.world.shares.values()].find((each) => each.owner === "Deployment/chat" && each.state === "running");
  const { page, context, faults } = await open(`shares/${share.id}`);
  const main = page.locator("main");
  const h1 = (name) => page.getByRole("heading", { level: 1, name }).waitFor();
  await main.getByRole("link", { name: "Deployment/chat" }).click();
  await h1("chat");
  await main.getByRole("link", { name: share.name, exact: true }).click();
  await main.getByRole("link", { name: share.node, exact: true }).click();
  await h1(share.node);
  await main.getByRole("link", { name: share.name, exact: true }).click();
  await main.getByRole("region", { name: "Devices" }).getByRole("rowheader").getByRole("link").click();
  await page.waitForURL(/devices\/gpu-/);
  await main.getByRole("rowheader").getByRole("link", { name: share.name, exact: true }).click();
  await h1(share.name);
  await main.getByRole("link", { name: "serving", exact: true }).last().click();
  await h1("serving");
  assert.deepEqual(faults, []);
  await context.close();
});

test("queues.Tree_ShowsAmountsBesideBars", async () => {
  const { page, context, faults } = await open("queues");
  await settled(page);
  const row = page.getByRole("row", { name: /nlp/ });
  assert.match(await row.textContent(), /15.5 devices.*12 devices.*3.5 devices.*20 devices/);
  const depths = await page.locator(".tree").evaluateAll((all) => all.map((each) => each.style.getPropertyValue("--depth")));
  assert.deepEqual(depths, ["0", "1", "1", "2", "2", "1"]);
  await page.getByRole("columnheader", { name: "Waiting" }).getByRole("button").click();
  await page.waitForURL(/sort=-pending/);
  await page.getByText("org/research/nlp").waitFor(); // no tree in another order
  await page.getByRole("link", { name: "org/batch" }).click();
  await page.getByText("<script>alert(1)</script> is below").waitFor();
  await page.getByRole("link", { name: "batch/render-big" }).click();
  await page.getByText("Never fits here").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("lists.EveryColumn_SortsByAMember", { timeout: 180_000 }, async () => {
  const { page, context, faults } = await open("", { viewport: { width: 2600, height: 700 } });
  for (const path of ["waiting", "nodes", "devices", "shares", "workloads", "queues", "pools", "teams", "models"]) {
    await page.goto(mock.url + path);
    await settled(page);
    const heads = page.locator(".sort");
    for (let at = 0; at < await heads.count(); at += 1) {
      const title = await heads.nth(at).textContent();
      const answer = page.waitForResponse((response) => response.url().includes(`/api/v1/${path}?`));
      await heads.nth(at).click();
      assert.equal((await answer).status(), 200, `${path}: ${title}`);
    }
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("absent.NodeWithoutAgent_IsNotZero", async () => {
  const { page, context } = await open("nodes/gpu-9");
  await settled(page);
  for (const label of ["Total", "Allocated", "Used, by the driver"]) {
    const fact = page.locator(".fact", { has: page.getByText(label, { exact: true }) }).first();
    assert.match(await fact.textContent(), /\u2014/);
  }
  await context.close();
});

test("absent.UseWithoutAgents_ShowsAllocation", async (t) => {
  const agentless = await startMock({ cluster: true, still: true, agentless: true, history: true });
  t.after(() => agentless.stop());
  const { page, context, faults } = await openPage(browser, agentless, {});
  await settled(page);
  assert.equal(await page.locator(".cell.unknown").count(), 0);
  assert.ok(await page.locator(".cell-allocated").count() > 50);
  assert.equal(await page.locator(".bar-used, .bar-idle").count(), 0);
  await page.getByText("Shares, Waiting").waitFor();
  await page.goto(`${agentless.url}devices`);
  await settled(page);
  assert.equal(await page.locator(".meter.unknown").count(), 0);
  assert.ok(await page.getByLabel(/^Memory: use not known, .* allocated, of/).count() > 5);
  await page.goto(`${agentless.url}shares/${[...agentless.world.shares.keys()][0]}`);
  await page.getByText("Its node shows why").waitFor();
  assert.equal(await page.locator("main .not-known").count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("planner.Form_WritesAManifestThatIsPlanned", async () => {
  const { page, context, faults } = await open("planner");
  await page.getByLabel("Memory per device").fill("70Gi");
  await page.getByLabel("Model contains").fill("H100");
  await page.getByRole("button", { name: "Write into the manifest" }).click();
  assert.match(await page.getByLabel("Manifests").inputValue(), /use\.divvy\.dev\/model: "H100"[\s\S]*divvy\.dev\/gpumem: "71680Mi"/);
  await page.getByLabel("Namespace").fill("research");
  await page.getByRole("button", { name: "Where would it fit?" }).click();
  await page.getByRole("rowheader", { name: "research/planned" }).waitFor();
  await page.getByRole("link", { name: "batch/render-5" }).waitFor();
  page.expectFailures = true;
  await page.getByLabel("Manifests").fill("nonsense");
  await page.getByRole("button", { name: "Where would it fit?" }).click();
  await page.getByText("document 1, line 1: no member kind").waitFor();
  await page.goto(`${mock.url}nodes`);
  assert.deepEqual(faults, []);
  await context.close();
});

test("planner.ServedModel_WritesItsManifestOrSaysWhyNot", async () => {
  const { page, context, faults } = await open("planner");
  const form = page.getByRole("region", { name: "Size for a served model" });
  await form.getByRole("combobox", { name: "Served model" }).fill("llama-3-8b");
  await form.getByLabel("Sequences at once").fill("16");
  await form.getByRole("button", { name: "Compute the request" }).click();
  await form.getByRole("rowheader", { name: "kv cache" }).waitFor();
  assert.match(await page.getByLabel("Manifests").inputValue(), /kind: Deployment/);
  await page.getByLabel("Manifests").fill("kept");
  await form.getByLabel("Device").fill("rtx4090");
  await form.getByRole("button", { name: "Compute the request" }).click();
  await form.getByText("does not fit on rtx4090").waitFor();
  assert.equal(await page.getByLabel("Manifests").inputValue(), "kept");
  page.expectFailures = true;
  await form.getByRole("combobox", { name: "Served model" }).fill("gpt-99");
  await form.getByRole("button", { name: "Compute the request" }).click();
  await form.getByText('model "gpt-99" is not known').waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("keys.Letters_OpenThePagesOfACluster", async () => {
  const { page, context } = await open("");
  await settled(page);
  const keys = { w: "Waiting", n: "Nodes", d: "Devices", s: "Shares", k: "Workloads", q: "Queues", l: "Pools", t: "Teams", m: "Models", u: "Usage", p: "Planner" };
  for (const [key, name] of Object.entries(keys)) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }
  await context.close();
});

test("chinese.ClusterPages_HaveNoEnglishTitles", async () => {
  const { page, context, faults } = await open("", { locale: "zh-CN" });
  for (const name of ["等待", "节点", "设备", "份额", "工作负载", "队列", "资源池", "团队", "模型", "用量", "规划"]) {
    await page.getByRole("navigation", { name: "页面" }).getByRole("link", { name }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("local.ClusterPages_AreNoPages", async (t) => {
  const local = await startMock({ still: true });
  t.after(() => local.stop());
  const { page, context } = await openPage(browser, local, { path: "queues" });
  await page.getByRole("heading", { level: 1, name: "No such page" }).waitFor();
  assert.equal(await page.getByRole("navigation", { name: "Pages" }).getByRole("link").count(), 9);
  await context.close();
});
