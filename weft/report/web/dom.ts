// SPDX-License-Identifier: Apache-2.0
// Elements in one call.

type Attributes = Record<string, string | number | boolean>;
export type Child = Node | string | null;

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null));
  return element;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A button that copies a text and says so. */
export function copyButton(text: string): HTMLButtonElement {
  const button = el("button", { type: "button", class: "copy", title: "copy" }, "copy");
  button.addEventListener("click", () => {
    // Not every browser has it for every page.
    const clipboard: Clipboard | undefined = navigator.clipboard;
    const copied = clipboard ? clipboard.writeText(text) : Promise.reject();
    copied.then(
      () => said("copied"),
      () => said("press Ctrl-C"),
    );
  });
  function said(word: string): void {
    // Where the browser forbids it, the text is selected, so that the user can copy it.
    const source = button.previousElementSibling;
    if (word !== "copied" && source) getSelection()?.selectAllChildren(source);
    button.textContent = word;
    setTimeout(() => (button.textContent = "copy"), 1500);
  }
  return button;
}

export function command(text: string): HTMLElement {
  return el("span", { class: "command" }, el("code", {}, text), copyButton(text));
}
