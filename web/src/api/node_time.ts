// The node's clock: it has stamped what pages show, and may be hours away from the
// browser's, above all where a machine has no battery for its own.

const least = 5000; // milliseconds: an answer is stamped in whole seconds, and takes its time

let ahead = 0; // milliseconds

export const nodeTime = () => Date.now() + ahead;

/** setNodeTime is by the stamp of an answer, and when that was asked for by the browser's clock. */
export function setNodeTime(stamp: string | null, asked: number): void {
  const by = Date.parse(stamp ?? "") - Date.now();
  if (Number.isNaN(by) || Date.now() - asked > 1000 || Math.abs(by - ahead) < least) return;
  ahead = Math.abs(by) < least ? 0 : by;
}
