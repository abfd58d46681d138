// JSON as YAML, in kubectl's form.

const plain = /^-{0,2}[A-Za-z_/][\w./:@%+=~;-]*( [\w./:@%+=~();-]+)*$/;
const special = /^(true|false|yes|no|on|off|null|~|y|n)$/i;

function scalar(value: unknown, indent: string): string {
  if (typeof value !== "string") return String(value);
  if (value.includes("\n") && !/[^\n\t\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/.test(value) && !/^[\s]/.test(value)) {
    const lines = value.replace(/\n$/, "").split("\n");
    const keep = value.endsWith("\n\n") ? "+" : value.endsWith("\n") ? "" : "-";
    return `|${keep}\n${lines.map((line) => (line ? indent + line : "")).join("\n")}`;
  }
  return plain.test(value) && !special.test(value) && !value.endsWith(":") && !/: | #/.test(value) ? value : JSON.stringify(value);
}

const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;

function key(name: string): string {
  return plain.test(name) && !special.test(name) && !name.includes(": ") ? name : JSON.stringify(name);
}

function write(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return value
      .map((item) => {
        if (typeof item === "object" && item !== null && !isEmpty(item)) return `${indent}- ${write(item, `${indent}  `).trimStart()}`;
        return `${indent}- ${leaf(item, `${indent}  `)}`;
      })
      .join("\n");
  }
  return Object.entries(value as object)
    .map(([name, item]) => {
      if (typeof item !== "object" || item === null || isEmpty(item)) return `${indent}${key(name)}: ${leaf(item, `${indent}  `)}`;
      // A list has the indentation of its key.
      return `${indent}${key(name)}:\n${write(item, Array.isArray(item) ? indent : `${indent}  `)}`;
    })
    .join("\n");
}

function leaf(value: unknown, indent: string): string {
  if (Array.isArray(value)) return "[]";
  if (value !== null && typeof value === "object") return "{}";
  return scalar(value, indent);
}

export function toYaml(value: unknown): string {
  if (typeof value !== "object" || value === null || isEmpty(value)) return `${leaf(value, "  ")}\n`;
  return `${write(value, "")}\n`;
}

export interface Piece {
  kind: "key" | "text" | "value" | "mark";
  text: string;
}

/** pieces splits a line of YAML for colouring. */
export function pieces(line: string): Piece[] {
  const found = /^(\s*(?:- )*)((?:"(?:[^"\\]|\\.)*"|[^\s"#:[{][^:]*?):)?(\s.*|)$/.exec(line) ?? /^(\s*(?:- )*)()(.*)$/.exec(line);
  if (!found) return [{ kind: "text", text: line }];
  const [, head = "", name = "", rest = ""] = found;
  const value = rest.trim();
  const isValue = /^(-?\d[\d.eE+-]*|true|false|null)$/.test(value);
  const result: Piece[] = [];
  if (head) result.push({ kind: "mark", text: head });
  if (name) result.push({ kind: "key", text: name });
  if (rest) result.push({ kind: isValue ? "value" : "text", text: rest });
  return result;
}
