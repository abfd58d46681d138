// The message of a log without lines.

export const lookingWords = "Looking through the log";

interface Why {
  looking: boolean; // some earlier lines have not come yet
  sought: boolean; // a search or filter is active
  ended: boolean;
}

/** noLines says why there is no line to show. */
export function noLines({ looking, sought, ended }: Why): string {
  if (looking) return `${lookingWords}…`;
  if (sought) return "No line matches.";
  return ended ? "The log is empty." : "Nothing has been printed yet.";
}
