// What a log says in place of lines.

export const lookingWords = "Looking through the log";

interface Why {
  looking: boolean; // not all of what there was has come
  sought: boolean; // only some lines are wanted
  ended: boolean;
}

/** noLines tells why there is no line to show. */
export function noLines({ looking, sought, ended }: Why): string {
  if (looking) return `${lookingWords}…`;
  if (sought) return "No line has that.";
  return ended ? "The log is empty." : "Nothing was printed yet.";
}
