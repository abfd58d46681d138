// What a page is called among the tabs of a browser.

const pages: Record<string, string> = { pods: "Pods", images: "Images", objects: "Objects", apply: "Apply" };

/** titleOf is the page's name, or that of what it shows, before the node's. */
export function titleOf(path: readonly string[], node: string): string {
  const [first = "", ...rest] = path;
  const [namespace, name] = first === "objects" ? rest.slice(1) : rest;
  const shown = name ? (namespace === "default" || namespace === "-" ? name : `${namespace}/${name}`) : (pages[first] ?? "");
  return [shown, node].filter(Boolean).join(" · ");
}
