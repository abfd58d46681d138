// Words of a command line in a shell's notation.

/** quote quotes a text so that a shell takes it as one word. */
export const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const word = /(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"?|'[^']*'?)+/gs;
const part = /\\(.)|"((?:[^"\\]|\\.)*)"?|'([^']*)'?|[^\\"']+/gs;

/** words splits a line at blanks outside quotes. No other character is special. */
export function words(line: string): string[] {
  return [...line.matchAll(word)].map(([raw]) =>
    raw.replaceAll(part, (all: string, escaped?: string, soft?: string, hard?: string) => escaped ?? soft?.replaceAll(/\\(["\\$`])/g, "$1") ?? hard ?? all),
  );
}
