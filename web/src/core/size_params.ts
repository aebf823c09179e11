// The form about a served model as words of GET /size. Pure.

const kNames = ["model", "context", "concurrency", "dtype", "gpu"] as const;

export function sizeParams(values: FormData): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of kNames) {
    const text = String(values.get(name) ?? "").trim();
    if (text) params.set(name, text);
  }
  return params;
}
