// The user of the page, and the user's rights.
import { computed, signal } from "@preact/signals";
import { through } from "../api/through";
import { ApiError, get, messageOf, refusals, request } from "../api/request";

export type Verb = "read" | "write" | "exec" | "admin";

export interface Session {
  name: string;
  role: string;
  via: string;
  can: Verb[];
  /** The port has watches and logs; the read-only port has none. */
  live: boolean;
}

/** undefined: not known yet; null: signed out. */
export const session = signal<Session | null | undefined>(undefined);
export const signInProblem = signal("");

/** acting is off at first: a look around cannot break anything. */
export const acting = signal(false);

export const may = (verb: Verb) => session.value?.can.includes(verb) ?? false;
export const mayAct = computed(() => may("write") || may("exec"));
export const canWrite = computed(() => acting.value && may("write"));
/** isAdmin: to read does not act, so the lock at the top does not matter. The read-only port serves nothing of an admin's. */
export const isAdmin = computed(() => may("admin") && (session.value?.live ?? false));
export const canAdmin = computed(() => acting.value && isAdmin.value);
export const canExec = computed(() => acting.value && may("exec"));

const memories: Array<() => void> = [];

/** onLeaving registers a function that removes what belongs to a user who signs out. */
export const onLeaving = (forget: () => void) => void memories.push(forget);

/** leave ends the session in this tab: the next user finds nothing of this one. */
function leave(): void {
  acting.value = false;
  session.value = null;
  for (const forget of memories) forget();
}

/** takeCode returns the code of a sign-in link and removes it from the address: it is good once. */
function takeCode(): string {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export async function findSession(): Promise<void> {
  const code = takeCode();
  if (code && (await signIn({ code }))) return;
  try {
    session.value = await patiently(() => get<Session>("/ui/session"));
    signInProblem.value = "";
  } catch (error) {
    const unknown = error instanceof ApiError && error.http === 401;
    if (!unknown) signInProblem.value = messageOf(error);
    // A node that cannot be reached through this one says nothing about the session here.
    if (unknown || !through) session.value = null;
  }
}

/** keepCode signs in with a link that is pasted into the open page: only the part behind # differs, so that the browser loads nothing. */
export function keepCode(): void {
  addEventListener("hashchange", () => {
    const code = takeCode();
    if (code) void signIn({ code });
  });
}

/**
 * patiently repeats a request without an answer: browsers cut connections when network interfaces
 * appear, as they do when pods start.
 */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let turn = 1; ; turn++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError) || error.http !== 0 || turn === 10) throw error;
      await new Promise((done) => setTimeout(done, 100 * turn));
    }
  }
}

let turn: Promise<unknown> = Promise.resolve();

/** inTurn sends a request after the answer to the one before: a late sign-out would end the next session. */
function inTurn(ask: () => Promise<unknown>): Promise<unknown> {
  const mine = turn.then(ask);
  turn = mine.catch(() => {});
  return mine;
}

export async function signIn(proof: { code: string } | { token: string }): Promise<boolean> {
  try {
    await inTurn(async () => (session.value = await patiently(() => request<Session>("POST", "/ui/session", JSON.stringify(proof)))));
    signInProblem.value = "";
    if (through) location.reload(); // the shown node knows the user as another one
    return true;
  } catch (error) {
    signInProblem.value = messageOf(error);
    return false;
  }
}

const interval = 10_000; // milliseconds

/**
 * keepSession reads the session now and then: a right may have been withdrawn while an open watch
 * goes on. If the session has ended, the refusal says so.
 */
export function keepSession(): () => void {
  let over = false;
  const ask = async () => {
    const next = await get<Session>("/ui/session").catch(() => null);
    if (over) return; // the answer may be about the user before
    if (next && session.value && JSON.stringify(next) !== JSON.stringify(session.value)) session.value = next;
  };
  const timer = setInterval(() => !document.hidden && void ask(), interval);
  return () => {
    over = true;
    clearInterval(timer);
  };
}

/** signOut leaves at once, and then ends the session on the node. While the node is away, a message says so. */
export async function signOut(): Promise<void> {
  leave();
  while (session.value === null) {
    try {
      await inTurn(async () => session.value === null && (await request("DELETE", "/ui/session")));
      if (session.value === null) signInProblem.value = "";
      return;
    } catch (error) {
      signInProblem.value = `The node has not confirmed the sign-out yet: ${messageOf(error)} Keep this page open until this message goes: until then, reloading the page signs you in again.`;
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

// A known user whose request is refused was revoked, or was away for too long.
refusals.addEventListener("refused", () => {
  if (!session.value) return;
  leave();
  signInProblem.value = "Your session has ended.";
});
