// Messages of containers, probes and the runtime, made safe to show.
import { strip } from "./ansi";

/** said drops terminal sequences and characters that reverse text, and shortens long IDs. */
export const said = (text: string) =>
  text
    .split("\n")
    .map(strip)
    .join("\n")
    .replace(/\b[0-9a-f]{64}\b/g, (id) => id.slice(0, 12));
