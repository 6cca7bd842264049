// SPDX-License-Identifier: Apache-2.0
// Tables, and the table that every picture has behind it: the same numbers for those who cannot see
// the picture, want to copy it or do not trust it.
import { Child, el } from "./dom";

export interface Column {
  title: string;
  /** Left-aligned; numbers are not. */
  text?: boolean;
}

export type Row = Child[];

export function table(caption: string, columns: Column[], rows: Row[]): HTMLTableElement {
  const kind = (column: Column) => (column.text ? "text" : "number");
  const head = columns.map((c) => el("th", { scope: "col", class: kind(c) }, c.title));
  const body = rows.map((cells) =>
    el("tr", {}, ...cells.map((cell, i) => el("td", { class: kind(columns[i]) }, cell))),
  );
  return el(
    "table",
    {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...body),
  );
}

/** Made when it is opened: pages of a thousand ranks stay quick. */
export function tableTwin(caption: string, columns: Column[], rows: () => Row[]): HTMLElement {
  const summary = el("summary", {}, "as a table");
  const details = el("details", { class: "twin" }, summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    details.append(el("div", { class: "scroll" }, table(caption, columns, rows())));
  });
  return details;
}
