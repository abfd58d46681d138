// What a Secret holds.

/** textOf is a value as text; null: it is none, and stands as it is written in the manifest. */
export function textOf(base64: string): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
  } catch {
    return null;
  }
}
