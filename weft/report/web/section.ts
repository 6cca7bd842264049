// SPDX-License-Identifier: Apache-2.0
// A part of the page: a heading that can be linked to, one sentence that tells how to read what
// follows, and the content.
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

export function nothing(text: string): HTMLElement {
  return el("p", { class: "nothing" }, text);
}
