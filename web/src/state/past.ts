// What the node has recorded of its usage, or of a pod's, read again while a page shows it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GetPodHistoryResponse, Pod } from "../api/gen";
import { ApiError, perform } from "../api/request";
import { getNodeHistory, getPodHistory } from "../pure/calls";
import { type Reach } from "../pure/past";
import { now } from "./clock";

/** Whose names a pod, which may be gone. Without one, the node is meant. */
export type Whose = Pick<Pod, "namespace" | "name" | "uid"> | null;

export interface Past {
  /** null: not read yet. */
  answer: GetPodHistoryResponse | null;
  /** The end of the time that was asked for, in milliseconds. */
  to: number;
  refused: string;
}

export const callOf = (of: Whose, { length, step }: Reach, to: number) => {
  const since = new Date(to - length).toISOString();
  return of ? getPodHistory(of, since, step) : getNodeHistory(since, step);
};

export function usePast(of: Whose, reach: Reach): Past {
  const past = useSignal<Past>({ answer: null, to: now.peek(), refused: "" });
  useEffect(() => {
    let current = true;
    const ask = () => {
      const to = now.peek();
      perform<GetPodHistoryResponse>(callOf(of, reach, to)).then(
        (answer) => current && (past.value = { answer, to, refused: "" }),
        (e: unknown) => {
          // Without an answer of the node it stays as it was; the banner says that the node is away.
          if (current && e instanceof ApiError && e.http > 0) past.value = { answer: null, to, refused: e.message };
        },
      );
    };
    ask();
    const timer = setInterval(() => document.hidden || ask(), Math.min(reach.step, 60) * 1000);
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [of?.namespace, of?.name, of?.uid, reach.id]);
  return past.value;
}
