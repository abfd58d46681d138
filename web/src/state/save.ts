/** save has the browser keep text as a file. */
export function save(name: string, type: string, pieces: string[]): void {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(new Blob(pieces, { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
