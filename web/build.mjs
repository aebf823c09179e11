// Builds the console's files into OUT/ (default "out"): node build.mjs [OUT]. Two builds are equal byte for byte.
// OUT/manifest.json lists each file: path, content type, hash, whether its name holds the hash, encodings.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { kExact, readTexts, textUses } from "./src/texts/uses.mjs";
import { leanChart } from "./src/ui/lean_chart.mjs";

const kRoot = dirname(fileURLToPath(import.meta.url));
const kKilo = 1024;
// gzip -9. A viewer loads the scripts of one page in one language: that is what has to stay small.
const kMaxPage = 80 * kKilo; // what any page can load
const kMaxScript = 104 * kKilo; // all scripts together
const kMaxStyle = 10 * kKilo;
const kMaxFirstRoute = 50 * kKilo; // page, style and what the first page loads at once
const kTypes = {
  ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
  ".svg": "image/svg+xml", ".json": "application/json",
};
// The page of every path that is no file; the server writes its base path into this line.
const kBase = '<base href="/">';

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const extension = (path) => /\.[a-z]+$/.exec(path)?.[0] ?? "";

// gzip -9 without a time; byte 9 (operating system) is set, since zlib writes the one that it runs on.
function gzip(bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed.fill(0, 4, 8);
  packed[9] = 255;
  return packed;
}

// Texts take little: keys that the source names in full become short ones, and the Chinese texts are values in the
// order of the English keys.
const kFirstName = 360; // "a0" in base 36: names begin with a letter, so that an object keeps their order
const packTexts = {
  name: "pack-texts",
  setup(step) {
    const [english, chinese] = ["en", "zh"].map(readTexts);
    const keys = Object.keys(english).sort();
    const { counted, prefixes } = textUses();
    const isPart = (key) => counted.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
    const short = new Map(keys.map((key, at) => [key, isPart(key) ? key : (at + kFirstName).toString(36)]));
    step.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => ({
      loader: extension(path).slice(1),
      contents: (await readFile(path, "utf8")).replace(kExact, (all, use, key) => (short.has(key) ? `${use}"${short.get(key)}"` : all)),
    }));
    step.onLoad({ filter: /[\\/]texts[\\/]en\.json$/ }, () => ({
      loader: "json", contents: JSON.stringify(Object.fromEntries(keys.map((key) => [short.get(key), english[key]]))),
    }));
    step.onLoad({ filter: /[\\/]texts[\\/]zh\.json$/ }, ({ path }) => ({
      resolveDir: dirname(path), loader: "js",
      contents: `import en from "./en.json";
const values = ${JSON.stringify(keys.map((key) => chinese[key] ?? english[key]))};
export default Object.fromEntries(Object.keys(en).map((key, at) => [key, values[at]]));`,
    }));
  },
};

async function bundle() {
  const result = await build({
    absWorkingDir: kRoot, entryPoints: ["src/main.tsx", "src/styles/main.css"], outdir: "assets", outbase: "src",
    bundle: true, splitting: true, format: "esm", minify: true, write: false, metafile: true, charset: "utf8",
    target: ["chrome123", "firefox121", "safari17.5"], entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]", jsx: "automatic", jsxImportSource: "preact", plugins: [packTexts, leanChart], legalComments: "none",
    logLevel: "warning",
  });
  const files = result.outputFiles.map((file) => ({
    path: `assets/${file.path.split(/[\\/]assets[\\/]/).pop()}`, bytes: Buffer.from(file.contents),
  }));
  files.push({ path: "assets/licences.json", bytes: await licences(result.metafile.inputs) });
  return { files, outputs: result.metafile.outputs };
}

// What the page is made of, with licences and their texts: Divvy itself, then the npm packages in the scripts.
async function licences(inputs) {
  const lock = JSON.parse(await readFile(join(kRoot, "package-lock.json"), "utf8")).packages;
  const folders = new Set(Object.keys(inputs).flatMap((path) => /^(?:\.\.\/)*(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  const list = [{ name: "Divvy", licence: "Apache-2.0", text: await readFile(join(kRoot, "../LICENSE"), "utf8") }];
  for (const folder of [...folders].sort()) {
    const { license, version } = lock[folder];
    list.push({ name: `${folder.replace("node_modules/", "")} ${version}`, licence: license, text: await readFile(join(kRoot, folder, "LICENSE"), "utf8") });
  }
  return Buffer.from(JSON.stringify(list));
}

// The script `start` and the ones that it imports, with `later` also those that it loads on demand; not those of `skip`.
function scriptsFrom(outputs, start, { later = false, skip = [] } = {}) {
  const found = new Set();
  const visit = (path) => {
    if (found.has(path) || skip.includes(path)) return;
    found.add(path);
    for (const { path: next, kind } of outputs[path].imports) if (later || kind === "import-statement") visit(next);
  };
  visit(start);
  return found;
}

// What a viewer of a page can load, for each script of pages: with the largest language and the largest form of changes
// that it reaches, since a page has one of each.
function pageLoads(outputs, entry, sizeOf) {
  const of = (folder) => Object.keys(outputs).filter((path) => outputs[path].entryPoint?.startsWith(folder) && path !== entry);
  const [pages, languages, forms] = ["src/pages/", "src/texts/", "src/changes/"].map(of);
  if ([pages, languages, forms].some((found) => found.length === 0)) throw new Error("no scripts of pages, languages or forms found");
  return pages.map((page) => {
    const later = (path, but) => scriptsFrom(outputs, path, { later: true, skip: [...pages, ...languages, ...forms].filter((each) => !but.includes(each)) });
    const loads = languages.flatMap((language) => forms.map((form) => {
      const isReached = scriptsFrom(outputs, page, { later: true, skip: pages.filter((each) => each !== page) }).has(form);
      const starts = [entry, page, language, ...(isReached ? [form] : [])];
      return new Set(starts.flatMap((start) => [...later(start, starts)]));
    }));
    return { name: outputs[page].entryPoint, size: Math.max(...loads.map(sizeOf)) };
  });
}

async function assemble() {
  const { files, outputs } = await bundle();
  const entry = Object.keys(outputs).find((path) => outputs[path].entryPoint === "src/main.tsx");
  const icon = await readFile(join(kRoot, "src/icon.svg"));
  const iconPath = `assets/icon-${sha256(icon).slice(0, 8).toUpperCase()}.svg`;
  files.push({ path: iconPath, bytes: icon });
  const style = files.find((file) => file.path.endsWith(".css")).path;
  const template = await readFile(join(kRoot, "src/index.html"), "utf8");
  if (template.split(kBase).length !== 2) throw new Error(`src/index.html: expected one ${kBase}`);
  const values = { icon: iconPath, style, script: entry };
  const page = template.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
  files.push({ path: "index.html", bytes: Buffer.from(page) });
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, firstPaths: new Set(["index.html", style, ...scriptsFrom(outputs, entry)]), outputs, entry };
}

function checkSizes({ files, firstPaths, outputs, entry }) {
  const sum = (wanted) => files.filter(wanted).reduce((total, file) => total + file.gzip.length, 0);
  const pages = pageLoads(outputs, entry, (paths) => sum((file) => paths.has(file.path)));
  const sizes = [
    ...pages.map(({ name, size }) => [`scripts of a page of ${name}`, size, kMaxPage]),
    ["all scripts", sum((file) => file.path.endsWith(".js")), kMaxScript],
    ["style", sum((file) => file.path.endsWith(".css")), kMaxStyle],
    ["first route", sum((file) => firstPaths.has(file.path)), kMaxFirstRoute],
  ];
  for (const [name, size, max] of sizes) {
    console.log(`${name}: ${(size / kKilo).toFixed(1)} KB gzip of ${max / kKilo} KB`);
    if (size > max) throw new Error(`${name} is ${size} bytes with gzip -9; at most ${max} are accepted`);
  }
}

async function main() {
  const out = resolve(process.argv[2] ?? join(kRoot, "out"));
  const assembled = await assemble();
  const { files } = assembled;
  for (const file of files) file.gzip = gzip(file.bytes);
  await rm(out, { recursive: true, force: true });
  const manifest = { version: 1, index: "index.html", base: kBase, files: [] };
  for (const { path, bytes, gzip: packed } of files) {
    await mkdir(dirname(join(out, path)), { recursive: true });
    await writeFile(join(out, path), bytes);
    await writeFile(join(out, `${path}.gz`), packed);
    manifest.files.push({
      path, content_type: kTypes[extension(path)], sha256: sha256(bytes), immutable: /-[0-9A-Z]{8}\./.test(path),
      encodings: { identity: { file: path, bytes: bytes.length }, gzip: { file: `${path}.gz`, bytes: packed.length } },
    });
  }
  await writeFile(join(out, "manifest.json"), `${JSON.stringify(manifest, null, 1)}\n`);
  checkSizes(assembled);
}

await main();
