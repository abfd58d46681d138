// Whether what the page shows is live, out of how each of its watches is.

export interface Watching {
  state: "live" | "lost";
  since: number; // milliseconds
  problem: string;
}

export interface Link extends Omit<Watching, "state"> {
  state: Watching["state"] | "connecting";
  /** What is not kept up to date, where other things are. */
  old: readonly string[];
}

/** linkOf is live as long as no watch is lost: what has not begun has nothing on the page yet. */
export function linkOf(watches: ReadonlyMap<string, Watching>): Link {
  const all = [...watches];
  const lost = all.filter(([, w]) => w.state === "lost").sort(([, a], [, b]) => a.since - b.since);
  if (lost[0]) return { ...lost[0][1], old: lost.length < all.length ? lost.map(([name]) => name) : [] };
  return { ...(all[0]?.[1] ?? { state: "connecting", since: 0, problem: "" }), old: [] };
}
