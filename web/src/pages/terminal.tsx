import type { Pod } from "../api/gen";
export function TerminalTab(_: { pod: Pod }) {
  return null;
}
