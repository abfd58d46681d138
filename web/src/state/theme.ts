// The theme: light, dark, or the system's.
import { effect, signal } from "@preact/signals";
import { keep, recall } from "./storage";

export type Theme = "system" | "light" | "dark";

export const theme = signal<Theme>(((t) => (t === "light" || t === "dark" ? t : "system"))(recall("localStorage", "theme")));

const dark = matchMedia("(prefers-color-scheme: dark)");
export const isDark = signal(false);

export function applyTheme(): void {
  const look = () => {
    isDark.value = theme.value === "dark" || (theme.value === "system" && dark.matches);
    document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
  };
  dark.addEventListener("change", look);
  effect(() => {
    look();
    keep("localStorage", "theme", theme.value);
  });
}
