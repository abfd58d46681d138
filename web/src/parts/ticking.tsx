import type { ComponentChildren } from "preact";

/** Ticking is what changes all the time: of what is read out when it changes, it is left out. */
export const Ticking = ({ children }: { children: ComponentChildren }) => <span role="timer">{children}</span>;
