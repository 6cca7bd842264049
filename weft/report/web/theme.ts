// SPDX-License-Identifier: Apache-2.0
// Makes the switch between dark and light colours. By default, the page uses the setting of the
// system. If the reader makes a choice, the browser stores it.
import { el } from "./dom";

const KEY = "weft-theme";
type Theme = "auto" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** The stored choice. Access to the storage can throw on pages in a file or a notebook. */
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
    // Without storage, the choice is lost when the page is closed.
  }
}

/** Creates the switch. `changed` is called after each change of colours. */
export function themeSwitch(changed: () => void): HTMLButtonElement {
  const button = el("button", { type: "button", id: "theme", class: "theme" });
  let theme = remembered();
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const dark = theme === "dark" || (theme === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = `theme: ${theme}`;
    button.setAttribute("aria-label", `colours: ${theme}; switch to ${NEXT[theme]}`);
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
