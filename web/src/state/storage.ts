// What the browser keeps for the page: the tab's things over a reload, others for
// good. It may be forbidden to, or full: then they last as long as the page.

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
