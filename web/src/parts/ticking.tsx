import type { ComponentChildren } from "preact";

/** Ticking holds text that changes all the time; screen readers do not announce its changes. */
export const Ticking = ({ children }: { children: ComponentChildren }) => <span role="timer">{children}</span>;
