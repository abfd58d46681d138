// The address of the page. Paths are real, so links can be saved and sent.
import { signal } from "@preact/signals";
import { decoded, through } from "../api/through";

const base = through || "/ui";

export interface Place {
  path: string[]; // decoded
  query: URLSearchParams;
}

function read(): Place {
  const path = location.pathname.slice(base.length).split("/").filter(Boolean).map(decoded);
  return { path, query: new URLSearchParams(location.search) };
}

export const place = signal<Place>(read());

/** ownHref leads to a page of the node that serves this one. */
export const ownHref = (...path: string[]) => `/ui/${path.map(encodeURIComponent).join("/")}`;

export const hrefOf = (...path: string[]) => `${base}/${path.map(encodeURIComponent).join("/")}`;

export function go(href: string, replace = false): void {
  history[replace ? "replaceState" : "pushState"](null, "", href);
  place.value = read();
  if (replace) return;
  scrollTo(0, 0);
  // The focused element may be gone with the page before. Two frames later the next page is there.
  requestAnimationFrame(() => requestAnimationFrame(() => document.activeElement === document.body && document.getElementById("main")?.focus({ preventScroll: true })));
}

/** withQuery returns the address with some parameters changed; empty ones are removed. */
export function withQuery(changes: Record<string, string>): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  return location.pathname + (query.size ? `?${query}` : "");
}

/** setQuery changes one parameter of the address, in place. */
export const setQuery = (name: string, value: string) => go(withQuery({ [name]: value }), true);

export function listen(): void {
  addEventListener("popstate", () => (place.value = read()));
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = (event.target as Element).closest?.("a[href]");
    const href = anchor?.getAttribute("href") ?? "";
    // Pages of another node are loaded from the node, so that nothing of one is taken for the other's.
    if (!href.startsWith(`${base}/`) || (!through && href.startsWith("/ui/at/")) || anchor?.hasAttribute("download")) return;
    event.preventDefault();
    go(href);
  });
}
