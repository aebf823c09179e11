// Requests to /api/v1. A failure is an ApiFailure with the server's words.

export class ApiFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    readonly accepted: readonly string[] = [],
  ) {
    super(message);
  }
}

const kTimeoutMs = 15_000;

let csrf = "";
let onSessionEnd: (reason: string) => void = () => {};

export function setCsrf(value: string): void {
  csrf = value;
}

// Called with the server's message whenever a request is answered 401.
export function whenSessionEnds(handler: (reason: string) => void): void {
  onSessionEnd = handler;
}

export function apiUrl(path: string, params?: URLSearchParams): string {
  const query = params?.toString();
  return new URL(`api/v1/${path}${query ? `?${query}` : ""}`, document.baseURI).href;
}

export async function apiGet<T>(path: string, params?: URLSearchParams, signal?: AbortSignal): Promise<T> {
  return request<T>("GET", apiUrl(path, params), undefined, signal);
}

export async function apiPost<T>(path: string, body: unknown, signal?: AbortSignal, timeoutMs = kTimeoutMs): Promise<T> {
  return request<T>("POST", apiUrl(path), body, signal, timeoutMs);
}

export async function apiDelete(path: string): Promise<void> {
  await request<unknown>("DELETE", apiUrl(path));
}

async function request<T>(method: string, url: string, body?: unknown, signal?: AbortSignal, timeoutMs = kTimeoutMs): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) headers["X-Divvy-CSRF"] = csrf;
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  try {
    response = await fetch(url, {
      method, headers, credentials: "same-origin", cache: "no-store",
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiFailure("unreachable", "", 0);
  }
  if (response.ok) return response.status === 204 ? (undefined as T) : await bodyOf<T>(response);
  const failure = await failureOf(response);
  if (response.status === 401) onSessionEnd(failure.message);
  throw failure;
}

async function bodyOf<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiFailure("internal", "", response.status);
  }
}

async function failureOf(response: Response): Promise<ApiFailure> {
  try {
    const { error } = (await response.json()) as {
      error: { code?: string; message?: string; accepted?: string[] };
    };
    return new ApiFailure(error.code ?? "internal", error.message ?? "", response.status, error.accepted);
  } catch {
    return new ApiFailure("internal", "", response.status);
  }
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function failureFrom(error: unknown): ApiFailure {
  return error instanceof ApiFailure ? error : new ApiFailure("internal", String(error), 0);
}
