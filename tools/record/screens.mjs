// Pictures of the console's pages: node screens.mjs LINK FOLDER SCENE. screens.json lists them; screens.py calls this.
// A page that reports an error, shows a failure, or shows a value as not known is a fault: no picture is written.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kWaitMs, openPage, settled, startBrowser } from "../../web/tests/browser/harness.mjs";
import { withPalette } from "./palette.mjs";

const kLeast = 10_000; // bytes; an empty page has fewer
const kMost = 120_000;
const kHere = new URL(".", import.meta.url);
const [link, folder, scene] = process.argv.slice(2);
const base = new URL(".", link).href;
const listed = JSON.parse(readFileSync(new URL("screens.json", kHere))).filter((one) => one.scene === scene);

// Paths name an object as {LIST?QUERY}: the first one of that list.
async function pathOf(context, path) {
  const found = /\{(.*)\}/.exec(path);
  if (!found) return path;
  const { items } = await (await context.request.get(`${base}api/v1/${found[1]}`)).json();
  if (!items?.length) throw new Error(`${found[1]} has no rows`);
  return path.replace(found[0], items[0].id);
}

// All agents have answered: the use of all devices is known.
async function known(context) {
  for (const end = Date.now() + kWaitMs; Date.now() < end; await new Promise((done) => setTimeout(done, 500))) {
    const { items: devices } = await (await context.request.get(`${base}api/v1/devices?limit=500`)).json();
    if (devices?.length && devices.every((device) => device.memory_used_bytes != null)) return;
  }
  throw new Error("the used memory is not known");
}

// The account of this machine is not part of a picture.
async function nameless(route) {
  const response = await route.fetch();
  await route.fulfill({ response, json: { ...await response.json(), user: "ana" } });
}

async function plan(page, file) {
  const manifests = page.getByLabel("Manifests");
  await manifests.fill(readFileSync(new URL(file, kHere), "utf8"));
  await manifests.evaluate((area) => area.scrollTo(0, 0));
  await page.getByRole("button", { name: "Where would it fit?" }).click();
  await page.getByRole("rowheader").first().waitFor();
}

// Charts are drawn, fonts are loaded, and the stream of changes is open.
async function drawn(page) {
  await settled(page);
  await page.waitForFunction(() => {
    const empty = document.querySelector(".charts figure:not(:has(canvas))");
    const sections = document.querySelectorAll("#history-title").length;
    return !empty && (!sections || document.querySelector(".charts canvas")) && document.fonts.status === "loaded";
  }, null, { polling: 100 });
}

// `unknown`: texts beside a value that is never known on that page.
async function faultsOf(page, unknown = []) {
  return page.evaluate((accepted) => {
    const seen = (each) => each.getClientRects().length > 0 && each.getBoundingClientRect().top < innerHeight;
    const around = (each) => (each.closest("tr, li, p, section, div") ?? each).textContent?.trim().slice(0, 80);
    const text = (selector) => [...document.querySelectorAll(selector)].filter(seen)
      .map((each) => `${selector}: ${around(each)}`);
    const notKnown = text(".not-known").filter((each) => !accepted.some((one) => each.endsWith(one)));
    return [...text("[role=alert]"), ...notKnown, ...text(".notice.tone-waiting"), ...text(".notice.tone-broken")];
  }, unknown);
}

async function shoot(page, faults, { name, path, width, height, plan: manifest, unknown }) {
  await page.setViewportSize({ width, height });
  await page.goto(base + await pathOf(page.context(), path));
  await drawn(page);
  if (manifest) await plan(page, manifest);
  await page.mouse.move(width - 1, height - 1);
  const found = [...faults.splice(0), ...await faultsOf(page, unknown)];
  const png = withPalette(await page.screenshot({ animations: "disabled", caret: "hide", timeout: 120_000 }));
  if (png.length < kLeast || png.length > kMost) found.push(`${png.length} bytes; accepted are ${kLeast} to ${kMost}`);
  const file = join(folder, `${name}.png`);
  if (found.length) writeFileSync(join(folder, `${name}.fault.png`), png);
  else writeFileSync(file, png);
  console.log(`${name}.png: ${png.length} bytes${found.map((each) => `\n  fault: ${each}`).join("")}`);
  return found.length;
}

mkdirSync(folder, { recursive: true });
const browser = await startBrowser();
let count = 0;
try {
  const { page, context, faults } = await openPage(browser, { url: base, link: () => link },
    { colorScheme: "light", reducedMotion: "reduce" });
  await context.route("**/api/v1/session", nameless);
  await known(context);
  for (const each of listed) count += await shoot(page, faults, each);
} finally {
  await browser.close();
}
if (!listed.length || count) process.exitCode = 1;
