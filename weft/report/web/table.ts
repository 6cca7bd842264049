// SPDX-License-Identifier: Apache-2.0
// Shows the timeline as a table, for readers who cannot see the chart or prefer text. The table
// shows which spans take most time in the visible part, added up by lane and name.
import { element } from "./details";
import { formatCount, formatPoint, formatTime } from "./format";
import type { TimelineModel } from "./model";
import { firstAbove } from "./row_search";
import type { View } from "./view";

export interface TableRow {
  rank: number;
  lane: string;
  name: string;
  count: number;
  total: number;
}

/**
 * Adds up the time of the visible spans by lane and name. Returns the `most` largest sums, largest
 * first. If a span reaches beyond the view, only its visible part is added.
 */
export function sumUp(model: TimelineModel, view: View, most: number): TableRow[] {
  const { start, end, label, count, busyBefore } = model.spans;
  const sums = new Map<number, TableRow>();
  for (const row of model.rows) {
    const last = firstAbove(start, row.first, row.last, view.end);
    for (let i = firstAbove(end, row.first, row.last, view.start); i < last; ++i) {
      const key = row.lane * model.names.length + label[i];
      let sum = sums.get(key);
      if (!sum) {
        const lane = model.lanes[row.lane];
        const rank = model.ranks[lane.rank].rank;
        sum = { rank, lane: lane.name, name: model.names[label[i]], count: 0, total: 0 };
        sums.set(key, sum);
      }
      const inside = Math.min(end[i], view.end) - Math.max(start[i], view.start);
      sum.count += count.length > 0 ? count[i] : 1;
      sum.total += Math.min(inside, busyBefore[i + 1] - busyBefore[i]);
    }
  }
  return [...sums.values()].sort((a, b) => b.total - a.total).slice(0, most);
}

const MOST = 40;

function fillTable(table: HTMLTableElement, model: TimelineModel, view: View): void {
  const length = view.end - view.start;
  const from = formatPoint(Math.max(model.begin, view.start), length / 100);
  const to = formatPoint(Math.min(model.length, view.end), length / 100);
  const head = element("tr");
  for (const title of ["Rank", "Lane", "Name", "Count", "Total", "Share of the visible time"]) {
    const cell = element("th", title);
    cell.scope = "col";
    head.append(cell);
  }
  const rows = sumUp(model, view, MOST).map((sum) => {
    const row = element("tr");
    row.append(
      element("td", String(sum.rank), "number"),
      element("td", sum.lane),
      element("td", sum.name, "name"),
      element("td", formatCount(sum.count), "number"),
      element("td", formatTime(sum.total), "number"),
      element("td", `${((100 * sum.total) / length).toFixed(1)} %`, "number"),
    );
    return row;
  });
  const body = element("tbody");
  body.append(...rows);
  const header = element("thead");
  header.append(head);
  table.replaceChildren(element("caption", `What takes most time from ${from} to ${to}`), header, body);
}

/** A collapsed table. It is filled when it is opened and when the reader clicks its button. */
export function visibleTable(model: TimelineModel, view: () => View): HTMLElement {
  const table = element("table", "", "data-table");
  const fill = (): void => fillTable(table, model, view());
  const refresh = element("button", "Update to the visible window");
  refresh.type = "button";
  refresh.addEventListener("click", fill);
  const box = element("details", "", "data-table");
  box.addEventListener("toggle", () => box.open && fill());
  box.append(element("summary", "The visible window as a table"), refresh, table);
  return box;
}
