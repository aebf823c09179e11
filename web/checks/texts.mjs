// No text of the source is missing from texts/*.json, none is unused, and both languages have the same keys and
// placeholders. A key is used by t("key"), by title: "key" typed TextKey, by tOf("prefix.") or by tn("key").
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const kSource = join(dirname(fileURLToPath(import.meta.url)), "../src");
const languages = Object.fromEntries(["en", "zh"].map((name) =>
  [name, JSON.parse(readFileSync(join(kSource, `texts/${name}.json`), "utf8"))]));

const sources = readdirSync(kSource, { recursive: true }).map(String).filter((path) => /\.tsx?$/.test(path))
  .map((path) => readFileSync(join(kSource, path), "utf8")).join("\n");
const all = (pattern) => [...sources.matchAll(pattern)].map((match) => match[1]);
const exact = new Set([...all(/\bt\(\s*"([^"]+)"/g), ...all(/\btitle: "([a-z_]+\.[a-z_.-]+)"/g)]);
const counted = [...all(/\btn\(\s*"([^"]+)"/g), ...all(/\bcount="([^"]+)"/g)];
for (const key of counted) for (const end of [".one", ".other"]) exact.add(key + end);
const prefixes = [...all(/\btOf\(\s*"([^"]+\.)"/g), ...all(/\bkind="([a-z_.]+)" value=/g).map((kind) => `${kind}.`)];

const faults = [];
const placeholders = (text) => (text.match(/\{\w+\}/g) ?? []).sort().join(" ");
for (const key of exact) if (!(key in languages.en)) faults.push(`${key}: missing from en.json`);
for (const prefix of prefixes) {
  if (!Object.keys(languages.en).some((key) => key.startsWith(prefix))) faults.push(`${prefix}*: missing from en.json`);
}
for (const [key, text] of Object.entries(languages.en)) {
  if (!exact.has(key) && !prefixes.some((prefix) => key.startsWith(prefix))) faults.push(`${key}: unused`);
  const other = languages.zh[key];
  if (other === undefined) faults.push(`${key}: missing from zh.json`);
  else if (placeholders(other) !== placeholders(text)) faults.push(`${key}: placeholders differ in zh.json`);
}
for (const key of Object.keys(languages.zh)) if (!(key in languages.en)) faults.push(`${key}: in zh.json only`);
for (const [name, list] of Object.entries(languages)) {
  for (const [key, text] of Object.entries(list)) if (!text.trim()) faults.push(`${key}: empty in ${name}.json`);
}
for (const fault of faults) console.error(`texts: ${fault}`);
console.log(`texts: ${Object.keys(languages.en).length} keys, ${faults.length} faults`);
process.exitCode = faults.length ? 1 : 0;
