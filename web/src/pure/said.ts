// What containers, probes and the runtime said, as a page may show it.
import { strip } from "./ansi";

/** said leaves out what acts on a terminal or turns text around, and of each long id all but what tells it apart. */
export const said = (text: string) =>
  text
    .split("\n")
    .map(strip)
    .join("\n")
    .replace(/\b[0-9a-f]{64}\b/g, (id) => id.slice(0, 12));
