// The bundles applied from this page, and the state before each. The latter survives a reload, but
// never reaches another user.
import { computed, effect, signal } from "@preact/signals";
import type { Outcome } from "../api/gen";
import { nodeTime } from "../api/node_time";
import { keyOf } from "../pure/health";
import { podsOf, stageOf, standingOf } from "../pure/progress";
import { newest, type Undo } from "../pure/undo";
import { pods } from "./live";
import { session } from "./session";
import { keep, recall } from "./storage";

export interface Applied {
  outcomes: readonly Outcome[];
  undo: Undo;
  at: number; // milliseconds
  /** milliseconds until all its pods were ready for the first time. */
  took?: number;
}

export const applied = signal<Applied | null>(null);

/** standing counts how far the pods of the bundle are. */
export const standing = computed(() => standingOf(podsOf(applied.value?.outcomes ?? []).map((o) => stageOf(o, pods.value.get(keyOf(o))))));

// It runs on every page.
effect(() => {
  const last = applied.value;
  if (last && last.took === undefined && standing.value.over) applied.value = { ...last, took: nodeTime() - last.at };
});

const most = 256 * 1024; // characters
const place = "undo";

const undos = signal<readonly Undo[]>([]); // newest first

/** undoFor returns the undo of this page's last change to an object, named by id. */
export const undoFor = (id: string) => undos.value.find((undo) => undo.back.includes(id));

export function remember(next: Applied): void {
  applied.value = next;
  if (next.undo.back.length === 0) return;
  undos.value = newest([next.undo, ...undos.value], most);
  keep("sessionStorage", place, JSON.stringify({ who: session.value?.name, undos: undos.value }));
}

interface Kept {
  who: string;
  undos: Undo[];
}

function kept(): Kept {
  try {
    return JSON.parse(recall("sessionStorage", place) ?? "") as Kept;
  } catch {
    return { who: "", undos: [] };
  }
}

effect(() => {
  const somebody = session.value;
  if (somebody === undefined) return; // not known yet
  const { who, undos: theirs } = kept();
  if (who && who === somebody?.name) {
    undos.value = theirs;
    return;
  }
  undos.value = [];
  applied.value = null;
  keep("sessionStorage", place, "");
});
