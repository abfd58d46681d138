// Requests to the node. An error holds the node's own message, so that a page can show it
// unchanged.
import type { Call } from "../pure/calls";
import type { Status } from "./gen";
import { setNodeTime } from "./node_time";
import { whole } from "./through";

export class ApiError extends Error {
  constructor(
    readonly http: number,
    message: string,
    /** The fields of a refused manifest, each with its fault. */
    readonly violations: Array<{ field: string; description: string }> = [],
    /** The code of gRPC. */
    readonly code = 0,
  ) {
    super(message);
  }
}

export const silent = "The node does not answer.";

/** refusals dispatches an event when the node no longer accepts the session. */
export const refusals = new EventTarget();

async function failure(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  try {
    const status = JSON.parse(text) as Status;
    const violations = (status.details ?? []).flatMap(
      (detail) => (detail["fieldViolations"] as ApiError["violations"] | undefined) ?? [],
    );
    return new ApiError(response.status, status.message ?? response.statusText, violations, status.code);
  } catch {
    return new ApiError(response.status, text.trim() || response.statusText || `HTTP ${response.status}`);
  }
}

/** fetchOk is fetch, but throws an ApiError for every answer other than success. */
export async function fetchOk(path: string, init: RequestInit = {}): Promise<Response> {
  const asked = Date.now();
  let response: Response;
  try {
    response = await fetch(whole(path, init.method), { credentials: "same-origin", cache: "no-store", ...init });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, silent);
  }
  setNodeTime(response.headers.get("Date"), asked);
  if (response.status === 401) refusals.dispatchEvent(new Event("refused"));
  if (!response.ok) throw await failure(response);
  return response;
}

export async function request<T>(method: string, path: string, body?: string, type = ""): Promise<T> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.body = body;
    init.headers = { "Content-Type": type || (body.trimStart().startsWith("{") ? "application/json" : "application/yaml") };
  }
  const response = await fetchOk(path, init);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

export const get = <T>(path: string) => request<T>("GET", path);

/** perform sends a call, with a manifest if it takes one. */
export const perform = <T>({ method, path, json }: Call, manifest?: string) => request<T>(method, path, manifest ?? (json && JSON.stringify(json)));

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
