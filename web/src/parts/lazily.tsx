// Parts of the page that are loaded when they are first needed.
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { messageOf } from "../api/request";
import { Waiting } from "./waiting";

/** again loads a second time after a cut connection, which mostly succeeds. */
const again = <T,>(load: () => Promise<T>) => () => new Promise((done) => setTimeout(done, 500)).then(load);

export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazily(props: P) {
    const problem = useSignal("");
    const there = useSignal(loaded !== undefined);
    useEffect(() => {
      if (there.value) return;
      load().catch(again(load)).then(
        (component) => {
          loaded = component;
          there.value = true;
        },
        // After an upgrade of the node, files of the older build are gone.
        (error: unknown) => (problem.value = messageOf(error)),
      );
    }, []);
    if (problem.value) {
      return (
        <p class="problem" role="alert">
          A part of the page could not be fetched ({problem.value}). <a href={location.pathname} onClick={() => location.reload()}>Load the page again</a>
        </p>
      );
    }
    if (!there.value || !loaded) return <Waiting words="Fetching this part of the page…" />;
    const Component = loaded;
    return <Component {...props} />;
  };
}
