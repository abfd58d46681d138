// Another node that the page shows, through the node that it comes from.

/** through is the path at which that node answers reads; empty if the page shows the node that it comes from. */
export const through = /^\/ui\/at\/[^/]+(?=\/|$)/.exec(globalThis.location?.pathname ?? "")?.[0] ?? "";

/** decoded returns a part that cannot be decoded unchanged: nothing has such a name. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** throughName is the name of that node in the list of this one. */
export const throughName = decoded(through.slice("/ui/at/".length));

/** whole returns a path of the API where the shown node answers it. Signing in and out is a matter of the node that serves the page. */
export const whole = (path: string, method = "GET", at = through) => (path === "/ui/session" && method !== "GET" ? path : at + path);
