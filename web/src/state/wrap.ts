// Whether long lines of logs wrap. The choice is the browser's.
import { effect, signal } from "@preact/signals";
import { keep, recall } from "./storage";

export const wraps = signal(recall("localStorage", "wrap") === "1");

effect(() => keep("localStorage", "wrap", wraps.value ? "1" : ""));
