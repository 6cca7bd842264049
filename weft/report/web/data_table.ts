// SPDX-License-Identifier: Apache-2.0
// Makes tables, among them the collapsed table below every chart. The collapsed table has the
// numbers of the chart, for readers who cannot see the chart, want to copy the numbers, or want to
// check them.
import { Child, el } from "./dom";

export interface Column {
  title: string;
  /** True if the column has text. Text is left-aligned, numbers are right-aligned. */
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

/**
 * A table that is created only when the reader opens it, so that pages of a thousand ranks load
 * quickly.
 */
export function collapsedTable(caption: string, columns: Column[], rows: () => Row[]): HTMLElement {
  const summary = el("summary", {}, "as a table");
  const details = el("details", { class: "data-table" }, summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    details.append(el("div", { class: "scroll" }, table(caption, columns, rows())));
  });
  return details;
}
