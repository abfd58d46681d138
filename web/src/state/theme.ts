// Light, dark, or as the system has it.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const stored = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // storage may be forbidden
  }
};

export const theme = signal<Theme>(((t) => (t === "light" || t === "dark" ? t : "system"))(stored()));

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
    try {
      localStorage.setItem("theme", theme.value);
    } catch {
      // then it lasts as long as the page
    }
  });
}
