// Who looks at the page, and what they may do.
import { computed, signal } from "@preact/signals";
import { ApiError, get, messageOf, refusals, request } from "../api/request";

export type Verb = "read" | "write" | "exec" | "admin";

export interface Session {
  name: string;
  role: string;
  via: string;
  can: Verb[];
  /** There are watches and logs; the read-only port has none. */
  live: boolean;
}

/** undefined: not known yet; null: nobody. */
export const session = signal<Session | null | undefined>(undefined);
export const signInProblem = signal("");

/** acting is off at first: looking around cannot break anything. */
export const acting = signal(false);

export const may = (verb: Verb) => session.value?.can.includes(verb) ?? false;
export const mayAct = computed(() => may("write") || may("exec"));
export const canWrite = computed(() => acting.value && may("write"));
export const canExec = computed(() => acting.value && may("exec"));

const memories: Array<() => void> = [];

/** onLeaving has something forgotten, or closed, that was learned or opened for somebody who is gone. */
export const onLeaving = (forget: () => void) => void memories.push(forget);

/** leave ends a session in this tab: who signs in next finds nothing of who was there. */
function leave(): void {
  acting.value = false;
  session.value = null;
  for (const forget of memories) forget();
}

/** takeCode is the code of a link, which is good once: it leaves the address at once. */
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
    session.value = null;
    if (!(error instanceof ApiError && error.http === 401)) signInProblem.value = messageOf(error);
  }
}

/** patiently asks again where no answer came: browsers cut connections when interfaces come, as they do when pods start. */
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

/** inTurn asks once the one before is answered: a sign-out that is late would end the session that came after it. */
function inTurn(ask: () => Promise<unknown>): Promise<unknown> {
  const mine = turn.then(ask);
  turn = mine.catch(() => {});
  return mine;
}

export async function signIn(proof: { code: string } | { token: string }): Promise<boolean> {
  try {
    await inTurn(async () => (session.value = await patiently(() => request<Session>("POST", "/ui/session", JSON.stringify(proof)))));
    signInProblem.value = "";
    return true;
  } catch (error) {
    signInProblem.value = messageOf(error);
    return false;
  }
}

const interval = 10_000; // milliseconds

/**
 * keepSession asks now and then who one is: a right may have gone, and a watch that
 * is open goes on without it. Where nobody is known any more, the refusal tells.
 */
export function keepSession(): () => void {
  let over = false;
  const ask = async () => {
    const next = await get<Session>("/ui/session").catch(() => null);
    if (over) return; // it may be about who was there before
    if (next && session.value && JSON.stringify(next) !== JSON.stringify(session.value)) session.value = next;
  };
  const timer = setInterval(() => !document.hidden && void ask(), interval);
  return () => {
    over = true;
    clearInterval(timer);
  };
}

/** signOut leaves at once, and then has the node end the session: it may be away, which is said for as long as it is. */
export async function signOut(): Promise<void> {
  leave();
  while (session.value === null) {
    try {
      await inTurn(async () => session.value === null && (await request("DELETE", "/ui/session")));
      if (session.value === null) signInProblem.value = "";
      return;
    } catch (error) {
      signInProblem.value = `You have left this page, but the node does not know yet: ${messageOf(error)} Keep the page open until this goes, or whoever reloads it is you.`;
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

// Whoever was known and is refused has been revoked, or away for too long.
refusals.addEventListener("refused", () => {
  if (!session.value) return;
  leave();
  signInProblem.value = "Your session is over.";
});
