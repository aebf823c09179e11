// Which keys of the texts the source uses: t("key") and title: "key" typed TextKey name a key in full; tOf("prefix."),
// tn("key") and kind="prefix" begin one.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const kSource = join(dirname(fileURLToPath(import.meta.url)), "..");
export const kExact = /\b(t\(\s*|title: )"([a-z_0-9]+\.[a-z_0-9.-]+)"/g;

export function textUses() {
  const sources = readdirSync(kSource, { recursive: true }).map(String).filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(join(kSource, path), "utf8")).join("\n");
  const all = (pattern) => [...sources.matchAll(pattern)].map((match) => match.at(-1));
  const counted = [...all(/\btn\(\s*"([^"]+)"/g), ...all(/\bcount="([^"]+)"/g)];
  return {
    exact: new Set(all(kExact)), counted: new Set(counted.flatMap((key) => [`${key}.one`, `${key}.other`])),
    prefixes: [...all(/\btOf\(\s*"([^"]+\.)"/g), ...all(/\bkind="([a-z_.]+)" value=/g).map((kind) => `${kind}.`)],
  };
}

export const readTexts = (language) => JSON.parse(readFileSync(join(kSource, `texts/${language}.json`), "utf8"));
