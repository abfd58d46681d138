// Tables as files for other programs.

export type Value = string | number | boolean | undefined;
export type Row = Readonly<Record<string, Value>>;

/** csvOf has the columns of the first row. */
export function csvOf(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))].map((cells) => `${cells.map(cell).join(",")}\r\n`).join("");
}

/** cell has no text that a spreadsheet takes for a formula: texts come from pods too. */
function cell(value: Value): string {
  const text = String(value ?? "");
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
