// Builds tests/unit/*.test.ts and runs them by node:test.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const kFolder = join(dirname(fileURLToPath(import.meta.url)), "unit");
const out = mkdtempSync(join(tmpdir(), "divvy-web-"));
try {
  const tests = readdirSync(kFolder).filter((name) => name.endsWith(".test.ts")).map((name) => join(kFolder, name));
  await build({
    entryPoints: tests, outdir: out, outExtension: { ".js": ".mjs" }, bundle: true, platform: "node", format: "esm", logLevel: "warning",
    target: "node18", external: ["node:*"],
  });
  const files = readdirSync(out).filter((name) => name.endsWith(".test.mjs")).map((name) => join(out, name));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
