// SPDX-License-Identifier: Apache-2.0
// Paints the critical path as a line along the pieces of the path. The line goes up and down
// between lanes and ranks.
import type { Layout } from "./layout";
import type { TimelineModel } from "./model";
import { firstAbove } from "./row_search";
import type { Place } from "./scene";
import { timeToX } from "./view";

export interface Point {
  x: number;
  y: number;
}

/**
 * The y coordinate of the line at a piece. This is the lower edge of the piece's span, so that the
 * line does not cover text.
 */
function heightOf(model: TimelineModel, layout: Layout, piece: number): number {
  const { span, lane } = model.path;
  const place = span[piece] >= 0 ? layout.placeOf[model.spans.row[span[piece]]] : undefined;
  if (place && !place.thumb) return place.y + place.height;
  return lane[piece] >= 0 ? layout.laneLine[lane[piece]] : NaN;
}

/**
 * The corners of the line within the view. Thousands of pieces can fall into one pixel column. So
 * the pieces in a column that are narrower than a pixel are replaced by one vertical line from the
 * highest to the lowest of these pieces.
 */
export function pathPoints(model: TimelineModel, { layout, view, width, top }: Place): Point[] {
  const { start, end } = model.path;
  const points: Point[] = [];
  let column = -1;
  let low = 0;
  let high = 0;
  const flush = (): void => {
    if (column < 0 || low > high) return;
    points.push({ x: column, y: low - top });
    if (high > low) points.push({ x: column, y: high - top });
    column = -1;
  };
  for (let i = firstAbove(end, 0, end.length, view.start); i < start.length; ++i) {
    const x0 = timeToX(view, start[i], width);
    if (x0 > width) break;
    const y = heightOf(model, layout, i);
    if (Number.isNaN(y)) continue;
    const x1 = timeToX(view, end[i], width);
    if (x1 - x0 < 1) {
      const here = Math.floor(x0);
      if (here !== column) {
        flush();
        column = here;
        low = high = y;
      }
      low = Math.min(low, y);
      high = Math.max(high, y);
      continue;
    }
    flush();
    points.push({ x: x0, y: y - top }, { x: x1, y: y - top });
  }
  flush();
  return points;
}

export function paintPath(
  context: CanvasRenderingContext2D,
  points: Point[],
  halo: string,
  ink: string,
): void {
  context.lineJoin = "round";
  for (const [colour, width] of [[halo, 5], [ink, 2]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    points.forEach(({ x, y }, i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    context.stroke();
  }
  paintHeads(context, points, ink);
}

/** Paints an arrow head at each point where the path changes to another lane. */
function paintHeads(context: CanvasRenderingContext2D, points: Point[], ink: string): void {
  const LEAST = 12;
  context.fillStyle = ink;
  for (let i = 1; i < points.length; ++i) {
    const from = points[i - 1];
    const to = points[i];
    const rise = to.y - from.y;
    if (Math.abs(rise) < LEAST || Math.abs(to.x - from.x) > 40) continue;
    const down = Math.sign(rise);
    context.beginPath();
    context.moveTo(to.x, to.y - down);
    context.lineTo(to.x - 4, to.y - down * 8);
    context.lineTo(to.x + 4, to.y - down * 8);
    context.fill();
  }
}
