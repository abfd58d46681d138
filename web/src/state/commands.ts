// Whether pages show the same calls for other clients. The choice is the browser's.
import { effect, signal } from "@preact/signals";
import { keep, recall } from "./storage";

export const showsCommands = signal(recall("localStorage", "commands") === "1");

effect(() => keep("localStorage", "commands", showsCommands.value ? "1" : ""));
