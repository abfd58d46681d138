// The node's tokens, as an admin sees them.
import { effect, signal, untracked } from "@preact/signals";
import type { ListTokensResponse, Token } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { listTokens } from "../pure/calls";
import { reachable } from "./link";
import { isAdmin, onLeaving } from "./session";

export const tokens = signal<readonly Token[] | null>(null);
export const tokensProblem = signal("");

let asked = 0;
let answered = 0;

/** readTokens reads the list. It ignores an answer that comes after one to a later request. */
export async function readTokens(): Promise<void> {
  const mine = ++asked;
  const answer = await perform<ListTokensResponse>(listTokens()).catch(messageOf);
  if (mine < answered) return;
  answered = mine;
  tokensProblem.value = typeof answer === "string" ? answer : "";
  if (typeof answer !== "string") tokens.value = answer.tokens ?? [];
}

/** keepTokens is an effect. There is no watch of tokens, so the list is read again when the page becomes visible. */
export function keepTokens(): (() => void) | undefined {
  reachable.value; // read as a dependency
  if (!isAdmin.value) return undefined;
  void readTokens();
  const look = () => void (document.hidden || readTokens());
  document.addEventListener("visibilitychange", look);
  window.addEventListener("focus", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("focus", look);
  };
}

function forget(): void {
  answered = ++asked; // an answer that is still to come is dropped
  tokens.value = null;
  tokensProblem.value = "";
}

onLeaving(forget);

// Rights may be withdrawn while the page is open.
effect(() => {
  if (!isAdmin.value) untracked(forget);
});
