// Pictures of the console's pages: node screens.mjs LINK FOLDER. Called by screens.py.
import { createRequire } from "node:module";
import { join } from "node:path";

const [link, folder] = process.argv.slice(2);
const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
const page = await context.newPage();
const base = new URL(".", link).href;

async function shoot(path, name, fullPage = false) {
  await page.goto(base + path);
  await page.waitForSelector("h1");
  await page.waitForLoadState("load");
  await page.waitForTimeout(4000);
  await page.screenshot({ path: join(folder, `console-${name}.png`), fullPage, animations: "disabled", timeout: 120000 });
}

await page.goto(link);
await page.waitForSelector("h1");
await page.waitForTimeout(1000);
await shoot("?range=15m", "overview");
const { items } = await (await context.request.get(`${base}api/v1/devices?sort=-tenants`)).json();
await shoot(`devices/${items[0].id}?range=15m`, "device", true);
await shoot("shares", "shares");
await browser.close();
