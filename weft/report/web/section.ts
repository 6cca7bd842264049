// SPDX-License-Identifier: Apache-2.0
// Makes a section of the page: a heading with an anchor, an introduction that says how to read the
// content, and the content.
import { Child, el } from "./dom";

export interface Section {
  id: string;
  title: string;
  element: HTMLElement;
}

export function section(id: string, title: string, lead: Child, ...content: Child[]): Section {
  const element = el(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    lead === null ? null : el("p", { class: "lead" }, lead),
    ...content,
  );
  return { id, title, element };
}

/** The text of a section that has nothing to show. */
export function nothing(text: string): HTMLElement {
  return el("p", { class: "nothing" }, text);
}
