// SPDX-License-Identifier: Apache-2.0
// Dark or light: as the system says, until the reader chooses; the choice is remembered.
import { el } from "./dom";

const KEY = "weft-theme";
type Theme = "auto" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** Pages opened from a file or a notebook may have no storage. */
function remembered(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it holds until the page is closed.
  }
}

/** The switch. `changed` is told whenever colours are different from before. */
export function themeSwitch(changed: () => void): HTMLButtonElement {
  const button = el("button", { type: "button", id: "theme", class: "theme" });
  let theme = remembered();
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const dark = theme === "dark" || (theme === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = `theme: ${theme}`;
    button.setAttribute("aria-label", `colours: ${theme}; change to ${NEXT[theme]}`);
  };
  apply();
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    remember(theme);
    apply();
    changed();
  });
  system.addEventListener("change", () => {
    apply();
    changed();
  });
  return button;
}
