// SPDX-License-Identifier: Apache-2.0
// Dark or light: as the system says, until the reader chooses.

export function followTheme(button: HTMLElement): void {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen: string | null = null;
  const apply = (): void => {
    root.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
    button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark";
  };
  dark.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    apply();
  });
  apply();
}
