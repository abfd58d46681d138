// Terminal colours in lines of text. Only colours and weights count. All other sequences are
// dropped and control characters are shown as pictures, so a container's output can neither move
// nor hide text.

export interface Run {
  text: string;
  classes: string; // of style/logs.css
}

interface Pen {
  fg: string;
  bg: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

const clean = (): Pen => ({ fg: "", bg: "", bold: false, dim: false, italic: false, underline: false, inverse: false });

// The theme names the 16 colours. For 256 and true colours the nearest of those is taken, which is
// always readable.
function nearest(r: number, g: number, b: number): number {
  const bright = Math.max(r, g, b) > 170 ? 8 : 0;
  const level = Math.max(r, g, b) / 2;
  if (Math.max(r, g, b) < 48) return 0;
  if (Math.max(r, g, b) - Math.min(r, g, b) < 24) return r > 200 ? 15 : r > 110 ? 7 : 8;
  return bright + (r > level ? 1 : 0) + (g > level ? 2 : 0) + (b > level ? 4 : 0);
}

function of256(n: number): number {
  if (n < 16) return n;
  if (n >= 232) {
    const grey = 8 + (n - 232) * 10;
    return nearest(grey, grey, grey);
  }
  const level = (v: number) => (v === 0 ? 0 : 55 + v * 40);
  const i = n - 16;
  return nearest(level(Math.floor(i / 36)), level(Math.floor(i / 6) % 6), level(i % 6));
}

/** extended reads 38;5;n and 38;2;r;g;b, and returns the colour and how many numbers it used. */
function extended(codes: number[], at: number): [number | null, number] {
  if (codes[at + 1] === 5) return [of256(codes[at + 2] ?? 0), 2];
  if (codes[at + 1] === 2) return [nearest(codes[at + 2] ?? 0, codes[at + 3] ?? 0, codes[at + 4] ?? 0), 4];
  return [null, 0];
}

function apply(pen: Pen, parameters: string): Pen {
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
  let next = { ...pen };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 0) next = clean();
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 7) next.inverse = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.underline = false;
    else if (code === 27) next.inverse = false;
    else if (code >= 30 && code <= 37) next.fg = `f${code - 30}`;
    else if (code === 39) next.fg = "";
    else if (code >= 40 && code <= 47) next.bg = `b${code - 40}`;
    else if (code === 49) next.bg = "";
    else if (code >= 90 && code <= 97) next.fg = `f${code - 82}`;
    else if (code >= 100 && code <= 107) next.bg = `b${code - 92}`;
    else if (code === 38 || code === 48) {
      const [colour, took] = extended(codes, i);
      if (colour !== null) next[code === 38 ? "fg" : "bg"] = `${code === 38 ? "f" : "b"}${colour}`;
      i += took;
    }
  }
  return next;
}

function classesOf(pen: Pen): string {
  return [pen.fg, pen.bg, pen.bold && "bold", pen.dim && "dim", pen.italic && "italic", pen.underline && "underline", pen.inverse && "inverse"]
    .filter(Boolean)
    .join(" ");
}

// CSI, OSC (to BEL or ST), and the two-character sequences.
const sequence = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-OQ-WYZ\\`-~])/g;

/** pictures replaces control characters with their pictures, and characters that reverse text with a mark. */
export function pictures(text: string): string {
  return text
    .replace(/[\x00-\x08\x0b-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\x7f/g, "\u2421")
    .replace(/[\x80-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "\ufffd");
}

export function ansi(line: string): Run[] {
  if (!/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e-\u2069]/.test(line)) return line ? [{ text: line, classes: "" }] : [];
  // A progress bar that is drawn over itself shows its last state.
  const text = line.replace(/\r+$/, "").replace(/^.*\r(?=.)/s, "");
  const runs: Run[] = [];
  let pen = clean();
  let at = 0;
  const add = (piece: string) => {
    if (piece) runs.push({ text: pictures(piece), classes: classesOf(pen) });
  };
  for (const found of text.matchAll(sequence)) {
    add(text.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[2] === "m") pen = apply(pen, found[1] ?? "");
  }
  add(text.slice(at));
  return runs;
}

/** strip returns the plain text of a line, for searching and copying. */
export const strip = (line: string) =>
  ansi(line)
    .map((run) => run.text)
    .join("");
