// SPDX-License-Identifier: Apache-2.0
// Where the arrow keys go from a span. All functions return -1 if there is no such span.
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
 * A span of the nearest row above (-1) or below (1) that has one near the middle of `span`: within half the
 * width of the view. Without a span (-1), the first row with a span near the middle of the view.
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
