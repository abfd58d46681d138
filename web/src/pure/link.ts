// Whether the page is live, from the state of each of its watches.

export interface Watching {
  state: "live" | "lost" | "refused";
  since: number; // milliseconds
  problem: string;
}

export interface Link extends Omit<Watching, "state"> {
  state: Watching["state"] | "connecting";
  /** The data that is out of date while other data is not, or that the user may not see. */
  old: readonly string[];
}

/** linkOf returns live while no watch is lost. A watch that has not begun has no data on the page yet. */
export function linkOf(watches: ReadonlyMap<string, Watching>): Link {
  const all = [...watches];
  const those = (state: Watching["state"]) => all.filter(([, w]) => w.state === state).sort(([, a], [, b]) => a.since - b.since);
  const names = (some: typeof all) => some.map(([name]) => name);
  const lost = those("lost");
  if (lost[0]) return { ...lost[0][1], old: lost.length < all.length ? names(lost) : [] };
  const refused = those("refused");
  if (refused[0]) return { ...refused[0][1], old: names(refused) };
  return { ...(all[0]?.[1] ?? { state: "connecting", since: 0, problem: "" }), old: [] };
}
