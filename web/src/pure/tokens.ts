// What a page says of tokens, and what it asks for a new one.
import type { Token } from "../api/gen";
import { since, age } from "./time";

/** lifetimes are the choices for a new token, in seconds; the last is without an end. */
export const lifetimes: ReadonlyArray<[name: string, seconds: number]> = [
  ["1 hour", 3600],
  ["1 day", 86_400],
  ["30 days", 2_592_000],
  ["1 year", 31_536_000],
  ["Without an end", 0],
];

export const roles = ["viewer", "operator", "admin"] as const;

export interface Wanted {
  name: string;
  role: (typeof roles)[number];
  /** As the user writes them, with commas or spaces between. */
  namespaces: string;
  seconds: number;
}

/** bodyOf returns the request for a token. An admin's role cannot be narrowed, so its field is not there to be read. */
export function bodyOf({ name, role, namespaces, seconds }: Wanted): object {
  const narrowed = role === "admin" ? [] : namespaces.split(/[\s,]+/).filter(Boolean);
  return { name: name.trim(), role, ...(narrowed.length && { namespaces: narrowed }), ...(seconds && { lifetime: `${seconds}s` }) };
}

/** endOf says when a token ends. */
export function endOf(token: Token, now: number): string {
  if (token.expired) return "expired";
  return token.expiresAt ? `in ${age(Math.max(0, Date.parse(token.expiresAt) - now))}` : "never";
}

/** usedOf says when a token was last used. The node knows it to the minute. */
export function usedOf(token: Token, now: number): string {
  if (!token.lastUsedAt) return "not known";
  return now - Date.parse(token.lastUsedAt) < 120_000 ? "just now" : `${since(token.lastUsedAt, now)} ago`;
}

export const scopeOf = (token: Token) => token.namespaces?.join(", ") || "the whole node";
