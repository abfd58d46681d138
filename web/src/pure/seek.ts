// What a user seeks in a log: words, or a regular expression between slashes.

export interface Seek {
  matches(text: string): boolean;
  /** cut returns the text in pieces; those at odd places match. */
  cut(text: string): string[];
  /** Why the expression is none; empty if it is. */
  problem: string;
}

const nothing: Seek = { matches: () => true, cut: (text) => [text], problem: "" };

const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** seekOf reads /expression/, and otherwise takes every character as it stands. The case matters only in /expression/c. */
export function seekOf(wish: string): Seek {
  if (!wish) return nothing;
  const expression = /^\/(.+)\/(c?)$/.exec(wish);
  try {
    const flags = expression?.[2] ? "g" : "gi";
    const pattern = new RegExp(`(${expression ? outer(expression[1]!) : quoted(wish)})`, flags);
    return {
      matches: (text) => text.search(pattern) >= 0,
      cut: (text) => pieces(text, pattern),
      problem: "",
    };
  } catch (error) {
    const message = error instanceof Error ? error.message.replace(/^Invalid regular expression: \/.*\/\w*: /, "") : String(error);
    return { matches: () => false, cut: (text) => [text], problem: message };
  }
}

/** outer checks an expression by itself: it must not close the brackets around it. */
function outer(expression: string): string {
  new RegExp(expression);
  return expression;
}

function pieces(text: string, pattern: RegExp): string[] {
  const found: string[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (!match[0]) continue; // an empty match marks nothing
    found.push(text.slice(at, match.index), match[0]);
    at = match.index + match[0].length;
  }
  return [...found, text.slice(at)];
}
