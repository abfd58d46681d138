// The logs that the node keeps of runs that were removed and of deleted pods, in the words of a table.
import type { LogOfRun } from "../api/gen";
import { bytes } from "./time";

/** keptOf selects the logs that no page of a pod shows, the newest first. */
export const keptOf = (logs: readonly LogOfRun[]): LogOfRun[] => logs.filter((log) => log.kept).reverse();

/** runOf names the run that wrote a log. */
export const runOf = (log: LogOfRun): string => `${log.namespace}/${log.name} ${log.container}, run ${log.attempt ?? 0}`;

/** fileOf names the file that a log is saved as. */
export const fileOf = (log: LogOfRun): string => `${log.name}-${log.container}-${log.uid}-${log.attempt ?? 0}.log`;

/** sizeWords counts the logs and their bytes on the disk. */
export function sizeWords(logs: readonly LogOfRun[]): string {
  if (logs.length === 0) return "none";
  const size = logs.reduce((sum, log) => sum + Number(log.bytes ?? 0), 0);
  return `${logs.length} ${logs.length === 1 ? "run" : "runs"}; ${bytes(size)}`;
}
