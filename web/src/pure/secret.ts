// The content of a Secret.

/** textOf decodes a value as text; null: it is binary, so the manifest's form is shown. */
export function textOf(base64: string): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
  } catch {
    return null;
  }
}
