// A browser and a mock server for one test file; what a page may not do is collected as faults.
import { existsSync } from "node:fs";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { startMock } from "../../mock/server.mjs";

const kBrowsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const kSerious = ["serious", "critical"];
export const kWaitMs = 30_000;

export async function startBrowser() {
  const executablePath = kBrowsers.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("no browser: apt-get install chromium, or set CHROMIUM to its path");
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath, args: root ? ["--no-sandbox"] : [] });
}

// A signed-in page: by `token` if one is given, else by a link. `faults` holds errors of the console and of scripts, requests to elsewhere, dialogs.
export async function openPage(browser, mock, options = {}) {
  const { path = "", signIn = true, token, context: given, ...contextOptions } = options;
  const context = given ?? await browser.newContext({
    viewport: { width: 1280, height: 800 }, locale: "en-GB", timezoneId: "UTC", ...contextOptions,
  });
  context.setDefaultTimeout(kWaitMs);
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !page.expectFailures) faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(mock.url) && !request.url().startsWith("data:")) faults.push(`outside: ${request.url()}`);
  });
  if (token) {
    const answer = await context.request.post(`${mock.url}api/v1/session`, { data: { token } });
    if (!answer.ok()) throw new Error(`sign-in: ${answer.status()}`);
    await page.goto(mock.url + path);
    await page.locator(".sidebar").waitFor({ state: "attached" });
  } else if (signIn) {
    await page.goto(mock.link());
    await page.locator(".sidebar").waitFor({ state: "attached" });
    if (path) await page.goto(mock.url + path);
  }
  return { page, context, faults };
}

// The page shows its data: a heading, and no skeleton.
export async function settled(page) {
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".loading, .table-row .skeleton") === null, null,
    { polling: 100 }); // not by frames: a busy machine may draw none for long
}

// What axe-core finds that is serious, as text.
export async function serious(page, rules) {
  await page.evaluate(axe.source);
  const options = { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) };
  const { violations } = await page.evaluate((given) => globalThis.axe.run(document, given), options);
  return violations.filter((each) => kSerious.includes(each.impact))
    .map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
}

export { startMock };
