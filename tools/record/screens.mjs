// Pictures of the console's pages: node screens.mjs LINK FOLDER local|cluster. Called by screens.py.
import { createRequire } from "node:module";
import { join } from "node:path";

const [link, folder, scene] = process.argv.slice(2);
const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
const page = await context.newPage();
const base = new URL(".", link).href;

async function shoot(path, name, fullPage = false, size = { width: 1280, height: 800 }) {
  await page.setViewportSize(size);
  await page.goto(base + path);
  await page.waitForSelector("h1");
  await page.waitForLoadState("load");
  await page.waitForTimeout(4000);
  await page.screenshot({ path: join(folder, `console-${name}.png`), fullPage, animations: "disabled", timeout: 120000 });
}

await page.goto(link);
await page.waitForSelector("h1");
await page.waitForTimeout(1000);
const first = async (list) => (await (await context.request.get(`${base}api/v1/${list}`)).json()).items[0].id;

async function shootLocal() {
  await shoot("?range=15m", "overview");
  await shoot(`devices/${await first("devices?sort=-tenants")}?range=15m`, "device", true);
  await shoot("shares", "shares");
}

async function shootCluster() {
  await shoot("?range=15m", "cluster-overview", false, { width: 1280, height: 860 });
  await shoot(`waiting/${await first("waiting?filter=review")}`, "cluster-waiting", false, { width: 1280, height: 670 });
  await shoot("queues", "cluster-queues", false, { width: 1280, height: 670 });
  await shoot("?range=15m", "cluster-phone", false, { width: 390, height: 844 });
}

await { local: shootLocal, cluster: shootCluster }[scene]();
await browser.close();
