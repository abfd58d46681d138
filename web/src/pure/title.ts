// The title of a page in a browser tab.

const pages: Record<string, string> = { pods: "Pods", images: "Images", objects: "Objects", tokens: "Tokens", apply: "Apply", events: "Events", nodes: "Nodes", logs: "Logs" };

/** titleOf returns the page's name, or that of the object it shows, and then the node's. */
export function titleOf(path: readonly string[], node: string): string {
  const [first = "", ...rest] = path;
  const [namespace, name] = first === "objects" ? rest.slice(1) : rest;
  const shown = name ? (namespace === "default" || namespace === "-" ? name : `${namespace}/${name}`) : (pages[first] ?? "");
  return [shown, node].filter(Boolean).join(" · ");
}
