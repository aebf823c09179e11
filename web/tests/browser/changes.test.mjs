// Changes of a cluster: effects first, then a second step; refusals, rights, failures, names, keys.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal } from "../../mock/answers.mjs";
import { kTraps } from "../../mock/world.mjs";
import { openPage, serious, settled, startBrowser, startMock } from "./harness.mjs";

const kGiB = 1024 ** 3;
const kOperator = "api.token.of-an-operator";
const kDeveloper = "api.token.of-a-developer";
const kTeam = "console.token.of-a-team";
let browser;
let mock; // with a link
let viewers; // with tokens

before(async () => {
  browser = await startBrowser();
  mock = await startMock({ cluster: true, still: true, changes: true });
  viewers = await startMock({ cluster: true, still: true, changes: true, login: "token" });
});
after(async () => {
  await browser?.close();
  await mock?.stop();
  await viewers?.stop();
});
beforeEach(() => {
  for (const each of [mock, viewers]) {
    Object.assign(each, { noChange: null, noChangeAnswer: false, changes: [], requests: [] });
    each.world.refusals = {};
    each.world.requested = [];
  }
});

const shareOf = (owner, at = 0, of = mock) => [...of.world.shares.values()].filter((share) => share.owner === owner && share.state === "running")[at];
const open = (path, options = {}) => openPage(browser, options.of ?? mock, { path, ...options });
const panelOf = (page) => page.locator(".panel.change");
const focused = (page, text) => page.waitForFunction((wanted) => {
  const { activeElement: element } = document;
  return element !== document.body && element?.textContent.includes(wanted);
}, text, { polling: 100 });
const fact = (page, label) => page.locator(".fact", { has: page.getByText(label, { exact: true }) }).first();

async function ask(page, what) {
  if (what) await panelOf(page).getByRole("button", { name: what, exact: true }).click();
  await panelOf(page).getByRole("button", { name: "Show effects" }).click();
}

const apply = (page, name = "Apply") => panelOf(page).getByRole("button", { name, exact: true }).click();

test("story.NotebookFourGiBLess_TakesThreeSteps", async () => {
  const share = shareOf("StatefulSet/notebooks", 2);
  Object.assign(share, { limit_bytes: 12 * kGiB, fill: 0.3 });
  mock.world.move(share);
  const { page, context, faults } = await open("shares?filter=notebooks");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("link", { name: share.name, exact: true }).click(); // 1
  await page.getByRole("button", { name: "−4 GiB" }).click(); // 2
  assert.equal(await page.getByLabel("Memory per device").inputValue(), "8Gi");
  await page.getByRole("button", { name: "Show effects" }).click(); // 3
  await page.getByText("memory limit of container main: 12GiB to 8GiB").waitFor();
  await focused(page, "This change would have these effects");
  assert.equal(share.limit_bytes, 12 * kGiB);
  await apply(page);
  await page.getByText("Done. An Event has your name: ana.").waitFor();
  await focused(page, "Done.");
  assert.equal(share.limit_bytes, 8 * kGiB);
  const change = { what: "resize", target: { share: share.id }, to: { memory: "8Gi" } };
  assert.deepEqual(mock.changes, [{ ...change, dry_run: true }, { ...change, dry_run: false }]);
  await page.getByText("ana: memory limit of container main").waitFor(); // the events of the page
  await page.waitForFunction(() => document.querySelector("main").textContent.includes("Limit now: 8.0 GiB"), null, { polling: 100 });
  assert.match(await fact(page, "Limit").textContent(), /8\.0 GiB/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("resize.GoesOn_PageFollows", async () => {
  const share = shareOf("Job/render");
  const { page, context, faults } = await open(`shares/${share.id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const cores = share.cores_percent + 5;
  await page.getByLabel("Compute, % of a device").fill(String(cores));
  await ask(page);
  await apply(page);
  await page.getByText("Requested, and still going on. This page follows.").waitFor();
  assert.doesNotMatch(await panelOf(page).textContent(), /Done\./);
  mock.settle();
  await panelOf(page).getByText("Done.").waitFor();
  assert.match(await fact(page, "Cores").textContent(), new RegExp(`${cores}%`));
  assert.deepEqual(mock.changes.at(-1), { what: "resize", target: { share: share.id }, to: { cores }, dry_run: false });
  assert.deepEqual(faults, []);
  await context.close();
});

test("resize.Refused_SaysWhyAndHasNoSecondStep", async () => {
  const share = shareOf("Deployment/chat");
  const { page, context, faults } = await open(`shares/${share.id}`);
  await page.getByLabel("Memory per device").fill("900Gi");
  await ask(page);
  await page.getByText(/Refused, nothing was changed:.*for this container/).waitFor();
  await page.getByText("NoRoom", { exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Apply" }).count(), 0);
  // Refused in the second step, too: the scheduler decides then.
  await page.getByLabel("Memory per device").fill("1Gi");
  assert.equal(await page.getByText("NoRoom").count(), 0); // input clears what was said
  await ask(page);
  await page.getByText("the agent will refuse it").waitFor();
  mock.world.refusals.resize = { code: "InUse", message: "the container uses more than 1GiB" };
  await apply(page);
  await page.getByText("Refused, nothing was changed: the container uses more than 1GiB InUse").waitFor();
  assert.notEqual(share.limit_bytes, kGiB);
  assert.deepEqual(faults, []);
  await context.close();
});

test("resize.ValuesThatAskNothing_AskNothing", async () => {
  const { page, context, faults } = await open(`shares/${shareOf("Deployment/chat").id}`);
  await ask(page);
  await page.getByText("These are the present values.").waitFor();
  await page.getByLabel("Memory per device").fill("50%");
  await page.getByText("Not an amount; accepted: 16Gi, 512Mi").waitFor();
  await ask(page);
  await page.getByLabel("Compute, % of a device").fill("0"); // the browser's own message
  await page.getByLabel("Memory per device").fill("8Gi");
  await ask(page);
  assert.deepEqual(mock.changes, []);
  assert.deepEqual(faults, []);
  await context.close();
});

test("resize.ComputeNotSet_MemoryChangesAlone", async () => {
  const { page, context, faults } = await open("");
  for (const [cores, text] of [[0, ""], [12.5, "12.5"]]) { // such a part of compute is shown, and does not block the form
    const share = shareOf("Job/finetune-llama");
    share.cores_percent = cores;
    mock.world.move(share);
    await page.goto(`${mock.url}shares/${share.id}`);
    await page.getByRole("button", { name: "+4 GiB" }).waitFor();
    assert.equal(await page.getByLabel("Compute, % of a device").inputValue(), text);
    await page.getByRole("button", { name: "−1 GiB" }).click();
    await ask(page);
    await page.getByText("memory limit of container main").waitFor();
    assert.deepEqual(Object.keys(mock.changes.at(-1).to), ["memory"]);
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("priority.NotKnown_IsChosen", async () => {
  const share = shareOf("Deployment/chat", 1);
  share.priority = null; // as rows of a cluster are
  const { page, context, faults } = await open(`shares/${share.id}`);
  await panelOf(page).getByRole("button", { name: "Priority" }).click();
  await ask(page); // the browser asks for a choice
  assert.deepEqual(mock.changes, []);
  await page.getByLabel("Priority").selectOption("low");
  await ask(page);
  await page.getByText("priority of container main: not known to low").waitFor();
  await apply(page);
  await page.getByText("Done.").waitFor();
  assert.equal(share.priority, "low");
  assert.deepEqual(faults, []);
  await context.close();
});

test("evict.Confirmed_PageKeepsTheOutcome", async () => {
  const share = shareOf("StatefulSet/notebooks", 4);
  const { page, context, faults } = await open(`shares/${share.id}`);
  page.expectFailures = true; // its page is gone
  await page.getByText("Live", { exact: true }).waitFor();
  await ask(page, "Evict");
  await page.getByText("its controller StatefulSet/notebooks starts another one").waitFor();
  assert.equal(await page.getByRole("button", { name: "Apply" }).count(), 0);
  assert.ok(mock.world.shares.has(share.id));
  await apply(page, `Evict ${share.name}`);
  await panelOf(page).getByText("Done.").waitFor();
  assert.ok(!mock.world.shares.has(share.id));
  await page.getByText("This object is gone since").waitFor();
  await panelOf(page).getByText("An Event has your name: ana.").waitFor();
  assert.equal(await panelOf(page).getByRole("button").count(), 0); // nothing can be changed any more
  assert.equal(await page.getByRole("button", { name: "Change", exact: true }).count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("evict.Budget_Refuses", async () => {
  const { page, context, faults } = await open(`shares/${shareOf("InferenceService/embed").id}`);
  await ask(page, "Evict");
  await page.getByText("it would violate the pod's disruption budget. conflict").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Evict / }).count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("notice.Text_IsAnEventOfThePod", async () => {
  const share = shareOf("Deployment/chat", 2);
  const { page, context, faults } = await open(`shares/${share.id}`);
  await panelOf(page).getByRole("button", { name: "Send notice" }).click();
  await page.getByLabel("Notice", { exact: true }).fill(`end it by 18:00\n${kTraps[0]} ${kTraps[1]}`);
  await ask(page);
  await page.getByText(`an Event of pod ${share.name}: end it by 18:00 ${kTraps[0]}`).waitFor();
  await apply(page);
  await page.getByText("Done. An Event has your name: ana.").waitFor();
  assert.equal(mock.changes.at(-1).to.text, `end it by 18:00 ${kTraps[0]} ${kTraps[1]}`);
  assert.equal(await page.evaluate(() => document.querySelectorAll("main script").length), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("cordon.State_DecidesWhich", async () => {
  const device = mock.world.devices[12];
  const { page, context, faults } = await open(`devices/${device.id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Cordon…" }).click();
  await page.getByText("1 device of gpu-1: no new pods").waitFor();
  await page.getByText(/running pods keep their devices/).waitFor();
  await apply(page);
  await panelOf(page).getByText("Done.").waitFor();
  await page.getByRole("button", { name: "Uncordon…" }).waitFor(); // the row of the page followed
  assert.equal(await page.getByRole("button", { name: "Cordon…", exact: true }).count(), 0);
  assert.deepEqual(mock.changes.at(-1).target, { device: device.id });
  for (const [path, name] of [["nodes/gpu-4", "Cordon…"], ["nodes/gpu-5", "Uncordon…"]]) {
    await page.goto(mock.url + path);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByText("8 devices of gpu-").waitFor();
    await apply(page);
    await page.getByText("Done. An Event has your name").waitFor();
  }
  assert.deepEqual(mock.changes.at(-1), { what: "uncordon", target: { node: "gpu-5" }, dry_run: false });
  assert.deepEqual(faults, []);
  await context.close();
});

test("queue.Form_SendsWhatDiffers", async () => {
  const { page, context, faults } = await open("queues/nlp");
  await page.getByText("Live", { exact: true }).waitFor();
  const of = (name) => page.getByRole("group", { name, exact: true });
  assert.equal(await of("All models").getByLabel("Guarantee, devices").inputValue(), "12");
  await of("All models").getByLabel("Limit, devices").fill("twenty");
  await page.getByText("Not a number of devices; accepted: 2, 0.5").waitFor();
  await ask(page);
  assert.deepEqual(mock.changes, []);
  await of("All models").getByLabel("Limit, devices").fill("24.5");
  await of("All models").getByLabel("Limit, memory").fill("640 GiB");
  await page.getByRole("button", { name: "Add a model" }).click();
  await of("Another model").getByLabel("Guarantee, devices").fill("1");
  await page.getByText("Each model needs a name, and one row only.").waitFor();
  await of("Another model").getByLabel("Model contains").fill(kTraps[4]);
  await page.getByLabel("Weight").fill("3");
  await page.getByLabel("May borrow").uncheck();
  await ask(page);
  await page.getByText("weight of queue nlp: 1 to 3").waitFor();
  await apply(page);
  await panelOf(page).getByText("Done.").waitFor();
  assert.deepEqual(mock.changes.at(-1), {
    what: "queue", target: { queue: "nlp" }, dry_run: false, to: {
      guarantee: [{ model: "*", devices_milli: 12000, memory_bytes: null }, { model: "H100", devices_milli: 8000, memory_bytes: null },
        { model: kTraps[4], devices_milli: 1000, memory_bytes: null }],
      limit: [{ model: "*", devices_milli: 24500, memory_bytes: 640 * kGiB }], weight: 3, borrows: false,
    },
  });
  await page.getByRole("row", { name: /24\.5 devices/ }).waitFor(); // the page has the new amounts
  await ask(page);
  await page.getByText("These are the present values.").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("names.Traps_AreText", async () => {
  const base = shareOf("Deployment/chat", 3);
  const { page, context, faults } = await open("", { viewport: { width: 390, height: 844 } });
  const traps = []; // removed at the end: an open page may read its share again
  for (const trap of [kTraps[0], kTraps[1], kTraps[2], "n".repeat(253), kTraps[4], kTraps[7]]) {
    const share = { ...base, pod: trap, name: `serving/${trap}`, id: `serving/${trap}/main`, owner: `Job/${trap}`, container: trap };
    mock.world.shares.set(share.id, share);
    await page.goto(`${mock.url}shares/${share.id.split("/").map(encodeURIComponent).join("/")}`);
    await page.getByRole("button", { name: "−1 GiB" }).click();
    await ask(page);
    await page.getByText("memory limit of container").waitFor();
    await ask(page, "Evict");
    const button = page.locator(".button.danger");
    await button.waitFor();
    assert.equal(await button.textContent(), `Evict serving/${trap.replace("\u202E", "‹202E›")}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, trap);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img").length), 0);
    traps.push(share.id);
  }
  assert.deepEqual(faults, []);
  await context.close();
  for (const id of traps) mock.world.shares.delete(id);
});

test("rights.Missing_AreRefusals", async () => {
  const own = shareOf("StatefulSet/notebooks", 0, viewers);
  const { page, context, faults } = await open(`shares/${own.id}`, { of: viewers, token: kDeveloper });
  await ask(page, "Evict");
  await page.getByText('User "dev@example.com" cannot create resource "pods/eviction"; ask for the right forbidden').waitFor();
  await panelOf(page).getByRole("button", { name: "Resize" }).click();
  await page.getByRole("button", { name: "+1 GiB" }).click();
  await ask(page);
  await apply(page);
  await page.getByText("Done. No Event has your name: it could not be written.").waitFor();
  await page.goto(`${viewers.url}nodes/gpu-0`);
  await page.getByRole("button", { name: "Cordon…" }).click();
  await page.getByText("cannot patch this resource").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("rights.ConsoleToken_SaysInOneLineWhatIsNeeded", async () => {
  const own = shareOf("StatefulSet/notebooks", 1, viewers);
  const { page, context, faults } = await open(`shares/${own.id}`, { of: viewers, token: kTeam });
  await page.getByText("This session may not make changes. To enable them: sign in with a token that the API server accepts").waitFor();
  await settled(page);
  assert.equal(await panelOf(page).count() + await page.getByRole("button", { name: "Change", exact: true }).count(), 0);
  assert.equal(viewers.requests.filter((each) => each.includes("_form-")).length, 0); // no form is loaded
  assert.deepEqual(faults, []);
  await context.close();
});

test("changes.Off_PagesSayHowToEnableThem", async (t) => {
  const off = await startMock({ cluster: true, still: true });
  t.after(() => off.stop());
  const { page, context, faults } = await open("", { of: off });
  for (const path of [`shares/${[...off.world.shares.keys()][0]}`, `devices/${off.world.devices[0].id}`, "nodes/gpu-0", "queues/nlp"]) {
    await page.goto(off.url + path);
    await page.getByText("Changes are off. To enable them: start the console with --allow-changes").waitFor();
    assert.equal(await page.locator(".change").count(), 0);
  }
  assert.equal(off.requests.filter((each) => each.includes("_form-")).length, 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("failures.EachCode_HasItsState", async () => {
  const { page, context } = await open("nodes/gpu-0");
  page.expectFailures = true;
  const cordon = () => page.getByRole("button", { name: "Cordon…", exact: true }).click();
  const fails = async (failure, text, retries) => {
    mock.noChange = failure;
    await cordon();
    await page.getByText(text).waitFor();
    await focused(page, failure.message);
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), retries);
    assert.equal(await page.getByRole("button", { name: "Apply" }).count(), 0);
  };
  await fails(new Refusal(403, "forbidden", "changes were switched off"), "Not allowed changes were switched off", 0);
  await fails(new Refusal(404, "not-found", "node gpu-0 is gone; nothing was changed"), "Not found node gpu-0 is gone; nothing was changed", 0);
  await fails(new Refusal(503, "unavailable", "the API server does not answer"), "Not available now the API server does not answer", 1);
  mock.noChange = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Apply" }).waitFor();
  // The change is made, and its answer is lost.
  mock.noChangeAnswer = true;
  await apply(page);
  await page.getByText("No answer arrived, so the change may have been made.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
  assert.equal(mock.world.nodeRows[0].state, "cordoned");
  await context.close();
});

test("keys.Change_NeedsNoMouse", async () => {
  const share = shareOf("Deployment/chat", 4);
  Object.assign(share, { limit_bytes: 12 * kGiB });
  mock.world.move(share);
  const { page, context, faults } = await open(`shares/${share.id}`);
  await page.getByRole("button", { name: "−1 GiB" }).waitFor();
  await page.getByRole("button", { name: "Change", exact: true }).press("Enter");
  await focused(page, "Change this share");
  const presses = async (key, times) => {
    for (let count = 0; count < times; count += 1) await page.keyboard.press(key);
  };
  await presses("Tab", 7); // four kinds of change, the field, −4, −1
  await focused(page, "−1 GiB");
  await page.keyboard.press("Space");
  await presses("Tab", 4);
  await focused(page, "Show effects");
  await page.keyboard.press("Enter");
  await focused(page, "This change would have these effects");
  await presses("Tab", 2);
  await focused(page, "Cancel");
  await page.keyboard.press("Enter");
  await focused(page, "Show effects");
  await page.keyboard.press("Enter");
  await focused(page, "This change would have these effects");
  await presses("Tab", 1);
  await page.keyboard.press("Enter");
  await focused(page, "Done.");
  assert.equal(mock.changes.at(-1).dry_run, false);
  assert.deepEqual(faults, []);
  await context.close();
});

for (const [width, colorScheme, locale] of [[1280, "light", "en-GB"], [390, "dark", "zh-CN"]]) {
  test(`changes.Width${width}_HasNoFaults`, { timeout: 90_000 }, async (t) => {
    const words = locale === "zh-CN" ? ["调整大小", "优先级", "发送通知", "驱逐", "预览影响", "停止调度…"]
      : ["Resize", "Priority", "Send notice", "Evict", "Show effects", "Cordon…"];
    const [resize, priority, notice, evict, effects, cordon] = words;
    const { page, context, faults } = await open("", { viewport: { width, height: 844 }, colorScheme, locale });
    const check = async () => {
      assert.deepEqual(await serious(page), []);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
      await page.emulateMedia({ colorScheme: colorScheme === "dark" ? "light" : "dark" });
      assert.deepEqual(await serious(page, ["color-contrast"]), []);
      await page.emulateMedia({ colorScheme });
      if (locale !== "zh-CN") return;
      const texts = await page.locator(".change").locator("h2, button, label, .note, legend").allInnerTexts();
      assert.doesNotMatch(texts.join("\n"), /change|effect|device|notice|memory|apply|model/i);
    };
    const share = shareOf("StatefulSet/notebooks", 5);
    await page.goto(`${mock.url}shares/${share.id}`);
    for (const what of [resize, priority, notice, evict]) {
      await t.test(what, async () => {
        await page.getByRole("button", { name: what, exact: true }).click();
        if (what === resize) await page.getByRole("button", { name: "−1 GiB" }).click();
        if (what === priority) await page.locator(".change select").selectOption(share.priority === "low" ? "high" : "low");
        if (what === notice) await page.locator(".change textarea").fill("end it");
        await page.getByRole("button", { name: effects }).click();
        await page.locator(".effects").waitFor();
        await check();
      });
    }
    for (const path of [`devices/${mock.world.devices[20].id}`, "nodes/gpu-2", "queues/serving"]) {
      await t.test(path.split("/")[0], async () => {
        await page.goto(mock.url + path);
        if (path.startsWith("queues")) await page.locator(".amounts input").first().fill("");
        await page.getByRole("button", { name: path.startsWith("queues") ? effects : cordon, exact: true }).click();
        await page.locator(".effects").waitFor();
        await check();
      });
    }
    await t.test("refused", async () => {
      mock.world.refusals.cordon = { code: "forbidden", message: kTraps[1] };
      await page.goto(`${mock.url}nodes/gpu-2`);
      await page.getByRole("button", { name: cordon, exact: true }).click();
      await page.locator(".outcome .tone-broken").waitFor();
      await check();
    });
    assert.deepEqual(faults, []);
    await context.close();
  });
}

test("operator.Token_ChangesWithItsOwnName", async () => {
  const { page, context, faults } = await open("queues/vision", { of: viewers, token: kOperator });
  await page.getByLabel("Weight").fill("4");
  await ask(page);
  await apply(page);
  await page.getByText("Done. An Event has your name: operator@example.com.").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});
