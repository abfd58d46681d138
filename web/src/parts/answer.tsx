// What the node answers to a call that is made once, when it is first shown.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { messageOf, perform } from "../api/request";
import type { Call } from "../pure/calls";
import { Waiting } from "./waiting";

interface Asked<T> {
  call: Call;
  waiting: string;
  faults?: (answer: T) => string; // what the node could not find out
  children: (answer: T) => ComponentChildren;
}

export function Answer<T extends object>({ call, waiting, faults, children }: Asked<T>) {
  const answer = useSignal<T | string>("");
  useEffect(() => {
    void perform<T>(call)
      .catch(messageOf)
      .then((got) => (answer.value = got));
  }, []);
  const got = answer.value;
  if (got === "") return <Waiting words={waiting} />;
  const problem = typeof got === "string" ? got : faults?.(got);
  return (
    <>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {typeof got !== "string" && children(got)}
    </>
  );
}
