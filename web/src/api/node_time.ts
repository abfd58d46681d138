// The node's clock. Pages show times from the node, which may be hours away from the browser's
// clock, above all on a machine whose clock has no battery.

const least = 5000; // milliseconds: an answer's stamp has whole seconds, and the answer takes time

let ahead = 0; // milliseconds

export const nodeTime = () => Date.now() + ahead;

/** setNodeTime compares the stamp of an answer with the browser's time of the request. */
export function setNodeTime(stamp: string | null, asked: number): void {
  const by = Date.parse(stamp ?? "") - Date.now();
  if (Number.isNaN(by) || Date.now() - asked > 1000 || Math.abs(by - ahead) < least) return;
  ahead = Math.abs(by) < least ? 0 : by;
}
