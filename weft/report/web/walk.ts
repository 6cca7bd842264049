// SPDX-License-Identifier: Apache-2.0
// Finds the span to which an arrow key goes from the selected span. All functions return -1 if
// there is no such span.
import type { Layout } from "./layout";
import type { TimelineModel } from "./model";
import { LongestIndex, spanAt } from "./row_search";
import type { View } from "./view";

/** The next (1) or previous (-1) span of the same row. */
export function spanBeside(model: TimelineModel, span: number, by: 1 | -1): number {
  const row = model.rows[model.spans.row[span]];
  const next = span + by;
  return next >= row.first && next < row.last ? next : -1;
}

/**
 * A span in a row above (`by` is -1) or below (1) `span`. The result is near the middle of `span`:
 * at most half the width of the view away. It is in the nearest row that has such a span. If `span`
 * is -1, the search starts at the first row and at the middle of the view.
 */
export function spanAcross(
  model: TimelineModel,
  longest: LongestIndex,
  layout: Layout,
  view: View,
  span: number,
  by: 1 | -1,
): number {
  const { start, end, row } = model.spans;
  const time = span >= 0 ? (start[span] + end[span]) / 2 : (view.start + view.end) / 2;
  const from = span >= 0 ? layout.rows.findIndex((placed) => placed.row === row[span]) : -1;
  for (let i = from + by; i >= 0 && i < layout.rows.length; i += by) {
    for (const slack of [0, (view.end - view.start) / 2]) {
      const found = spanAt(model, longest, model.rows[layout.rows[i].row], time, slack);
      if (found >= 0) return found;
    }
  }
  return -1;
}
