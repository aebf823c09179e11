// A request of a share as form values, as URL parameters and as options of the command line. Pure.
import type { ExplainRequest, SizeAnswer } from "../data/types";

const kNumbers = ["cores", "gpus"] as const;
const kTexts = ["memory", "priority", "model"] as const;

export function requestFrom(params: URLSearchParams): ExplainRequest {
  const request: ExplainRequest = {};
  for (const name of kTexts) {
    const text = params.get(name)?.trim().slice(0, 200);
    if (text) request[name] = text;
  }
  for (const name of kNumbers) {
    const text = params.get(name);
    if (text && /^\d{1,5}$/.test(text)) request[name] = Number(text);
  }
  return request;
}

export function requestParams(request: ExplainRequest): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of [...kTexts, ...kNumbers]) {
    const value = request[name];
    if (value !== undefined && value !== "") params.set(name, String(value));
  }
  return params;
}

// The request of a served model.
export function requestOf({ memory, size: { gpus, cores_percent: cores } }: SizeAnswer): ExplainRequest {
  return { memory, gpus, ...(cores === undefined ? {} : { cores }) };
}

// The request with the options of a fix, "--memory 12Gi --gpus 1"; null if an option is not one of a request.
export function applyFix(request: ExplainRequest, fix: string): ExplainRequest | null {
  const words = fix.trim().split(/[\s=]+/);
  if (words.length < 2 || words.length % 2 !== 0) return null;
  const next: ExplainRequest = { ...request };
  for (let at = 0; at < words.length; at += 2) {
    const name = (words[at] ?? "").replace(/^--/, "");
    const value = words[at + 1] ?? "";
    const number = kNumbers.find((each) => each === name);
    const text = kTexts.find((each) => each === name);
    if (number && /^\d+%?$/.test(value)) next[number] = Number.parseInt(value, 10);
    else if (text) next[text] = value;
    else return null;
  }
  return next;
}

// The command line that makes this request.
export function commandOf(request: ExplainRequest): string {
  const words = ["divvy", "run"];
  for (const name of ["memory", "cores", "gpus", "priority", "model"] as const) {
    const value = request[name];
    if (value === undefined || value === "" || (name === "gpus" && value === 1)) continue;
    if (name === "priority" && value === "normal") continue;
    words.push(`--${name}`, quote(String(value)));
  }
  return [...words, "--", "COMMAND"].join(" ");
}

function quote(text: string): string {
  return /^[A-Za-z0-9._:/%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
