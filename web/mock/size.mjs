// GET /size and /size/names: one model whose figures are those of `divvy size`; another name is refused.
import { Refusal } from "./answers.mjs";

const kGibi = 1024 ** 3;
const kDevices = { rtx4090: 23.5 * kGibi, h100: 79.1 * kGibi };

export const sizeNames = () => ({
  models: [{ name: "llama-3-8b", repository: "meta-llama/Meta-Llama-3-8B-Instruct", max_context: 8192 }],
  devices: Object.keys(kDevices), dtypes: ["bf16", "fp8"], kv_dtypes: ["auto", "fp8"],
});

export function size(query) {
  const model = query.get("model") ?? "";
  if (model !== "llama-3-8b") throw new Refusal(400, "usage", `model "${model}" is not known; accepted: a name of GET /size/names`);
  const concurrency = Number(query.get("concurrency") ?? 1);
  const weights = (query.get("dtype") === "fp8" ? 8.5 : 14.96) * kGibi;
  const cache = concurrency * kGibi;
  const bytes = Math.ceil((weights + cache + 3 * kGibi) / (64 * 1024 ** 2)) * 64 * 1024 ** 2;
  const device = query.get("gpu");
  const fits = !device || bytes <= (kDevices[device] ?? 0);
  const memory = `${bytes / 1024 ** 2}Mi`;
  return {
    size: {
      memory_bytes: bytes, gpus: 1, notes: [], ...(device && fits ? { cores_percent: 40 } : {}),
      terms: [
        { name: "weights", bytes: weights, why: "8.03B parameters" }, { name: "kv cache", bytes: cache, why: `${concurrency} sequences` },
        { name: "headroom", bytes: bytes - weights - cache, why: "of the engine" },
      ],
    },
    fits, memory, summary: fits ? "fits on h100 (80994Mi usable), 1 time on each" : `does not fit on ${device} (24064Mi usable), 6144Mi short`,
    manifest: fits ? `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: llama-3-8b\nspec: {} # nvidia.com/gpumem: ${memory}\n` : null,
  };
}
