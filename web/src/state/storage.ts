// The browser's storage: for the tab over a reload, or permanent. If it is forbidden or full,
// values last as long as the page.

type Where = "localStorage" | "sessionStorage";

export function recall(where: Where, name: string): string | null {
  try {
    return window[where].getItem(name);
  } catch {
    return null;
  }
}

export function keep(where: Where, name: string, text: string): void {
  try {
    window[where].setItem(name, text);
  } catch {
    // see above
  }
}
