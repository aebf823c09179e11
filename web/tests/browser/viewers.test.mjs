// A console with many viewers: sign in by a token, what a viewer with few rights sees, sessions that end.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal } from "../../mock/answers.mjs";
import { openPage, serious, settled, startBrowser, startMock } from "./harness.mjs";

const kOperator = "api.token.of-an-operator";
const kTeam = "console.token.of-a-team";
const kBare = "console.token.without-rights";
const kAuditor = "console.token.of-an-auditor";
const kCommand = "kubectl create token NAME --audience divvy-console";
let browser;
let mock;

before(async () => {
  browser = await startBrowser();
  mock = await startMock({ cluster: true, still: true, login: "token", base: "/gpu/" });
});
after(async () => {
  await browser?.close();
  await mock?.stop();
});
beforeEach(() => Object.assign(mock, { noSignIn: null, noAnswer: false, holds: false }));

const open = (token, path = "", options = {}) => openPage(browser, mock, { token, path, ...options });

// The login form; the browser reports each refused request as an error of the console.
async function openForm(path = "", options = {}) {
  const opened = await openPage(browser, mock, { signIn: false, ...options });
  opened.page.expectFailures = true;
  await opened.page.goto(mock.url + path);
  await field(opened.page).waitFor();
  return opened;
}

const field = (page) => page.getByLabel("Token", { exact: true });

async function signIn(page, token) {
  await field(page).fill(token);
  await page.keyboard.press("Enter");
  await page.locator(".sidebar").waitFor({ state: "attached" });
}

test("login.PastedToken_LeavesNoTrace", async () => {
  const { page, context, faults } = await openForm("shares?sort=name", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.getByRole("heading", { name: "Sign in to prod-eu" }).waitFor();
  await page.getByText("Only for looking. The API server does not accept it.").waitFor();
  await page.getByText("It also plans where pods would go.").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), kCommand);
  assert.equal(await field(page).getAttribute("type"), "password");
  assert.equal(await page.getByRole("button", { name: "Sign in" }).isDisabled(), true);
  await page.evaluate((text) => navigator.clipboard.writeText(text), `  Bearer ${kTeam.slice(0, 9)}\n${kTeam.slice(9)} \n`);
  await field(page).focus();
  await page.keyboard.press("Control+V");
  assert.equal(await field(page).inputValue(), kTeam);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Shares" }).waitFor();
  assert.equal(page.url(), `${mock.url}shares?sort=name`);
  await settled(page);
  const traces = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, location.href, history.state, document.cookie,
    document.documentElement.outerHTML, [...document.querySelectorAll("input")].map((input) => input.value)]));
  assert.ok(!traces.includes(kTeam));
  assert.ok(!mock.requests.some((request) => request.includes(kTeam)));
  assert.deepEqual(faults, []);
  await context.close();
});

test("login.Refused_SaysWhyBesideTheField", async () => {
  const { page, context, faults } = await openForm();
  assert.equal(await field(page).evaluate((input) => input === document.activeElement), true);
  const refused = async (text, prepare) => {
    prepare();
    await field(page).fill("a.wrong.token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#token-failure").getByText(text).waitFor();
    assert.equal(await field(page).inputValue(), "");
    assert.equal(await field(page).getAttribute("aria-invalid"), "true");
    assert.equal(await field(page).getAttribute("aria-describedby"), "token-failure");
    await page.waitForFunction(() => document.activeElement?.tagName === "INPUT", null, { polling: 100 });
  };
  await refused(/does not accept this token, or it has expired; make one with/, () => {});
  await refused("The console is busy: 20 sign-ins are under way", () => { mock.noSignIn = new Refusal(503, "busy", "20 sign-ins are under way"); });
  await refused("The API server does not answer: connection refused", () => { mock.noSignIn = new Refusal(503, "unavailable", "connection refused"); });
  await refused("The console does not answer: Check that it runs", () => { mock.noAnswer = true; });
  mock.noAnswer = false;
  mock.noSignIn = null;
  await signIn(page, kOperator);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("login.Link_HasNoTokenForm", async (t) => {
  const linked = await startMock({ cluster: true, still: true });
  t.after(() => linked.stop());
  const { page, context } = await openPage(browser, linked, { signIn: false });
  await page.goto(linked.url);
  await page.getByRole("heading", { name: "Sign in with a link" }).waitFor();
  assert.equal(await field(page).count(), 0);
  // A console that knows links only refuses the question.
  page.expectFailures = true;
  for (const status of [401, 404]) {
    await page.route("**/api/v1/login", (route) => route.fulfill({ status, json: { error: { code: "x", message: "no session" } } }));
    await page.reload();
    await page.getByRole("heading", { name: "Sign in with a link" }).waitFor();
  }
  await context.close();
});

test("login.Proxy_HasNoForm", async () => {
  const message = "the proxy in front of this console has not signed a viewer in";
  for (const [width, locale, text] of [[1280, "en-GB", "has to sign you in"], [390, "zh-CN", "代理"]]) {
    const { page, context } = await openPage(browser, mock, { signIn: false, locale, viewport: { width, height: 844 } });
    page.expectFailures = true;
    await page.route("**/api/v1/login", (route) => route.fulfill({ json: { login: "headers", cluster: "prod-eu" } }));
    await page.route("**/api/v1/session", (route) => route.fulfill({ status: 401, json: { error: { code: "unauthenticated", message } } }));
    await page.goto(mock.url);
    await page.getByText(message).waitFor();
    await page.getByText(text, { exact: false }).first().waitFor();
    assert.equal(await page.locator("form, input").count(), 0);
    assert.deepEqual(await serious(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await context.close();
  }
});

test("login.Form_HasNoFaults", async () => {
  for (const [colorScheme, width, locale, label] of [["light", 1280, "en-GB", "Token"], ["dark", 390, "zh-CN", "令牌"]]) {
    const { page, context } = await openPage(browser, mock, { signIn: false, colorScheme, locale, viewport: { width, height: 844 } });
    await page.goto(mock.url);
    await page.getByLabel(label, { exact: true }).fill("a.wrong.token");
    await page.keyboard.press("Enter");
    await page.locator("#token-failure").waitFor();
    assert.deepEqual(await serious(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await context.close();
  }
});

test("session.RequestRefused_ReturnsToThePage", async () => {
  const { page, context } = await open(kTeam, "shares?filter=namespace%3Dresearch&sort=-limit_bytes");
  page.expectFailures = true;
  await settled(page);
  mock.expireSessions();
  await page.evaluate(() => document.querySelector(".sort")?.click()); // unless the page has asked by itself before
  await page.getByText("the token is no longer accepted; sign in again").waitFor();
  await field(page).waitFor();
  assert.equal(await field(page).evaluate((input) => input === document.activeElement), true);
  const address = page.url();
  assert.match(address, /\/gpu\/shares\?.*filter=namespace%3Dresearch/);
  await signIn(page, kTeam);
  await settled(page);
  assert.equal(page.url(), address);
  assert.ok(await page.locator(".table-row[data-row]").count() > 5);
  await context.close();
});

test("session.StreamEnds_ReturnsToThePage", async () => {
  const { page, context } = await open(kTeam, "waiting/research/llama-70b-0");
  page.expectFailures = true;
  await page.getByText("Live", { exact: true }).waitFor();
  mock.holds = true; // a refused request would end the session first
  mock.endSessions("the token expired at 12:00; sign in with a new one");
  await page.getByText("the token expired at 12:00").waitFor();
  mock.holds = false;
  await signIn(page, kOperator);
  await page.getByRole("heading", { level: 1, name: "llama-70b-0" }).waitFor();
  assert.ok(page.url().endsWith("/gpu/waiting/research/llama-70b-0"));
  await page.getByText("operator@example.com").waitFor();
  assert.equal(await page.getByText("Names of nodes and of other pods are hidden").count(), 0); // nothing is left of the session before
  await page.getByText("Live", { exact: true }).waitFor();
  await context.close();
});

test("session.SignOut_EndsAllTabs", async () => {
  mock.expireSessions();
  const { page, context } = await open(kTeam, "devices");
  await page.getByText("Live", { exact: true }).waitFor();
  const other = await openPage(browser, mock, { context, signIn: false });
  for (const tab of [page, other.page]) tab.expectFailures = true;
  await other.page.goto(`${mock.url}shares`);
  await other.page.getByText("Live", { exact: true }).waitFor();
  mock.requests.length = 0;
  await page.getByRole("button", { name: "Sign out" }).click();
  for (const tab of [page, other.page]) await field(tab).waitFor();
  assert.ok(mock.requests.includes("DELETE /gpu/api/v1/session"));
  assert.equal(mock.sessions.size, 0);
  await signIn(page, kOperator);
  // The other tab takes the new session when it is looked at.
  await other.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await other.page.getByText("operator@example.com").waitFor();
  assert.ok(other.page.url().endsWith("/gpu/shares"));
  await context.close();
});

test("session.SignOutWithoutAnswer_SaysSo", async () => {
  const { page, context, faults } = await open(kTeam);
  page.expectFailures = true;
  await settled(page);
  mock.noAnswer = true;
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "The console does not answer" }).waitFor();
  await page.getByText("It may still be open").waitFor();
  mock.noAnswer = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("shell.LongUser_IsCutAndInTheTitle", async () => {
  const { page, context, faults } = await open(kTeam);
  await settled(page);
  const user = page.locator(".foot .user");
  assert.match(await user.getAttribute("title"), /^system:serviceaccount:research:a-service-account-with-a-long-name$/);
  assert.ok(await user.evaluate((line) => line.scrollWidth <= line.clientWidth && line.clientHeight < 40));
  assert.deepEqual(faults, []);
  await context.close();
  const trap = await open(kBare);
  await trap.page.locator(".foot .user").getByText("<script>alert(1)</script>").waitFor();
  assert.deepEqual(trap.faults, []);
  await trap.context.close();
});

test("scope.FewRights_SaysWhatToAskFor", async () => {
  const { page, context, faults } = await open(kTeam);
  await settled(page);
  await page.getByText("28 devices, of what you see").waitFor();
  assert.equal(await page.locator(".panel-head").getByText("of what you see").count(), 3);
  await page.getByText("You see 2 namespaces").click();
  const seen = page.getByRole("region", { name: "What you see" });
  for (const right of ["list nodes", "list queues.divvy.dev", "list pods", "list events"]) await seen.getByText(right, { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await seen.waitFor({ state: "hidden" });
  await page.getByText("You see 2 namespaces").click();
  await seen.getByRole("link", { name: "sandbox" }).click();
  await page.waitForURL(/shares\?filter=namespace%3Dsandbox/);
  await page.goto(`${mock.url}nodes`);
  const main = page.locator("main");
  await main.getByText("You may not list nodes", { exact: true }).waitFor();
  await main.getByText("list nodes", { exact: true }).waitFor();
  assert.equal(await page.getByText("No node with devices").count(), 0);
  await page.goto(`${mock.url}pools`);
  await main.getByText("You may not list nodes: only devices of pods that you see are shown.").waitFor();
  await page.goto(`${mock.url}shares`);
  await page.getByText("66 shares, of what you see").waitFor();
  page.expectFailures = true; // 404
  await page.goto(`${mock.url}nodes/gpu-1`);
  await main.getByText("list nodes", { exact: true }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("scope.NoRights_EmptyListsSayWhy", async () => {
  const { page, context, faults } = await open(kBare);
  await page.getByText("You see 0 namespaces").waitFor();
  await page.getByText("This holds for what you see only.").waitFor();
  const main = page.locator("main");
  for (const [path, text] of Object.entries({
    shares: "You may list pods in 0 namespaces only.", waiting: "You may list pods in 0 namespaces only.", workloads: "You may list pods in 0 namespaces only.",
    queues: "You may not list queues: only those of pods that you see are shown.", events: "You may list events in 0 namespaces only.",
    devices: "You may not list nodes: only devices of pods that you see are shown.",
  })) {
    await page.goto(mock.url + path);
    await main.getByText(text).waitFor();
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("scope.EventsOnly_HidesNothingElse", async () => {
  const { page, context, faults } = await open(kAuditor);
  await page.getByText("12 nodes, 96 devices, 1 unhealthy, of what you see").waitFor();
  await page.getByText("You see a part of the cluster").click();
  const seen = page.getByRole("region", { name: "What you see" });
  await seen.getByText("You may list events in 1 namespace only.").waitFor();
  assert.equal(await seen.getByText("Ask for:").count(), 1);
  await page.goto(`${mock.url}nodes`);
  await page.getByText("12 nodes", { exact: true }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("scope.RightsChange_PageFollows", async () => {
  mock.expireSessions();
  const { page, context, faults } = await open(kTeam, "nodes");
  await page.getByText("You may not list nodes", { exact: true }).waitFor();
  for (const session of mock.sessions.values()) session.viewer = { ...session.viewer, scope: { ...session.viewer.scope, nodes: true } };
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // else within a minute
  await page.getByText("12 nodes", { exact: true }).waitFor();
  await page.getByRole("link", { name: "gpu-0", exact: true }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("device.SharesOfOthers_AreCounted", async () => {
  const shares = [...mock.world.shares.values()];
  const own = shares.find((share) => share.namespace === "research");
  const { device } = own;
  shares.find((share) => share.namespace === "batch").device = device;
  mock.world.refresh();
  const isOwn = (part) => /^(research|sandbox)\//.test(part.share);
  const hidden = device.parts.filter((part) => !isOwn(part)).length;
  const { page, context, faults } = await open(kTeam, `devices/${device.id}`);
  await page.getByText(`And ${hidden} share${hidden === 1 ? "" : "s"} that you may not see.`).waitFor();
  for (const part of device.parts) assert.equal(await page.locator(`a[href="shares/${part.share}"]`).count() > 0, isOwn(part), part.share);
  assert.deepEqual(faults, []);
  await context.close();
});

test("scope.Everything_HasNoLabels", async () => {
  const { page, context, faults } = await open(kOperator);
  await page.getByText("12 nodes, 96 devices, 1 unhealthy", { exact: true }).waitFor();
  assert.equal(await page.locator(".seen").count() + await page.getByText("of what you see").count(), 0);
  await page.goto(`${mock.url}about`);
  await page.getByText("API token", { exact: true }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("explain.Limited_CountsNodesWithoutNames", async () => {
  const { page, context, faults } = await open(kTeam, "waiting/research/llama-70b-0");
  const main = page.locator("main");
  await main.getByText("Names of nodes and of other pods are hidden").waitFor();
  await main.getByText("8 nodes memory: too few devices have enough free").waitFor();
  await main.getByText("fits 3 nodes").waitFor();
  await main.getByText("Placements, refusals and evictions appear here as they happen.").waitFor(); // events of research are seen
  assert.equal(await main.locator("a[href^='nodes/'], details.reason").count(), 0);
  assert.equal(await main.getByText("Would fit if these pods ended").count(), 0);
  await page.goto(`${mock.url}waiting/research/sweep-41`);
  await main.getByText("Waits for its quota; nodes would fit").waitFor();
  await page.goto(`${mock.url}waiting/sandbox/demo-9`);
  await main.getByText("12 nodes node(s) didn't match").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("planner.ConsoleToken_SaysWhatIsNeeded", async () => {
  const { page, context } = await open(kTeam, "planner");
  page.expectFailures = true;
  await page.getByLabel("Memory per device").fill("8Gi");
  await page.getByRole("button", { name: "Write into the manifest" }).click();
  assert.match(await page.getByLabel("Manifests").inputValue(), /gpumem/);
  assert.equal(await page.getByRole("button", { name: "Where would it fit?" }).count(), 0);
  await page.getByText("Planning needs an API token").waitFor();
  await page.getByRole("button", { name: "Use another token" }).click();
  await signIn(page, kOperator);
  await page.getByLabel("Manifests").fill("kind: Pod\nmetadata:\n  name: x");
  await page.getByRole("button", { name: "Where would it fit?" }).click();
  await page.getByRole("rowheader", { name: "default/x" }).waitFor();
  await context.close();
});

for (const width of [1280, 390]) {
  test(`viewer.Width${width}_HasNoFaults`, { timeout: 90_000 }, async (t) => {
    const { page, context, faults } = await open(kTeam, "", { viewport: { width, height: 844 } });
    for (const path of ["", "nodes", "waiting/research/llama-70b-0", "planner"]) {
      await t.test(path || "overview", async () => {
        await page.emulateMedia({ colorScheme: "light" });
        await page.goto(mock.url + path);
        await settled(page);
        if (width < 860) await page.getByRole("button", { name: "Menu" }).click();
        await page.locator(".seen summary").click();
        assert.deepEqual(await serious(page), []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
        await page.emulateMedia({ colorScheme: "dark" });
        if (width < 860) await page.getByRole("button", { name: "Menu" }).click(); // the page itself
        assert.deepEqual(await serious(page, ["color-contrast"]), [], "dark");
      });
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
}
