// SPDX-License-Identifier: Apache-2.0
// Helpers that create an element with attributes and children in one call.

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

/** A button that copies a text and confirms it for 1.5 s. */
export function copyButton(text: string): HTMLButtonElement {
  const button = el("button", { type: "button", class: "copy", title: "copy" }, "copy");
  button.addEventListener("click", () => {
    // In some browsers the clipboard is undefined if the page was opened from a file.
    const clipboard: Clipboard | undefined = navigator.clipboard;
    const copied = clipboard ? clipboard.writeText(text) : Promise.reject();
    copied.then(
      () => confirm("copied"),
      () => confirm("press Ctrl-C"),
    );
  });
  function confirm(message: string): void {
    // If the browser does not allow copying, the text is selected, so that the user can copy it.
    const source = button.previousElementSibling;
    if (message !== "copied" && source) getSelection()?.selectAllChildren(source);
    button.textContent = message;
    setTimeout(() => (button.textContent = "copy"), 1500);
  }
  return button;
}

export function command(text: string): HTMLElement {
  return el("span", { class: "command" }, el("code", {}, text), copyButton(text));
}
