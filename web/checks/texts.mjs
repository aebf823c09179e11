// No text of the source is missing from texts/*.json, none is unused, and both languages have the same keys and
// placeholders. src/texts/uses.mjs says how a key is used.
import { readTexts, textUses } from "../src/texts/uses.mjs";

const languages = Object.fromEntries(["en", "zh"].map((name) => [name, readTexts(name)]));
const { exact: named, counted, prefixes } = textUses();
const exact = new Set([...named, ...counted]);

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
