// Words of a command line, as a shell writes and reads them.

/** quote has a shell take a text as one word, as it stands. */
export const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const word = /(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"?|'[^']*'?)+/gs;
const part = /\\(.)|"((?:[^"\\]|\\.)*)"?|'([^']*)'?|[^\\"']+/gs;

/** words splits a line at its blanks, but for those that are quoted. Nothing else has a meaning. */
export function words(line: string): string[] {
  return [...line.matchAll(word)].map(([raw]) =>
    raw.replaceAll(part, (all: string, escaped?: string, soft?: string, hard?: string) => escaped ?? soft?.replaceAll(/\\(["\\$`])/g, "$1") ?? hard ?? all),
  );
}
