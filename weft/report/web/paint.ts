// SPDX-License-Identifier: Apache-2.0
// Paints spans by writing the pixels of an image instead of drawing rectangles. So the time for a
// row is proportional to its width in pixels and does not depend on its number of spans. A pixel
// that covers several spans gets the colour of the longest of these spans. The opacity of the pixel
// is the share of its time in which a span runs.
import type { PlacedRow } from "./layout";
import type { TimelineModel } from "./model";
import { blend, Palette } from "./palette";
import { firstAbove, gallop, LongestIndex } from "./row_search";
import type { Scene } from "./scene";
import type { View } from "./view";

/** A span that is wide enough for text. x and width are device pixels, y and height are CSS pixels. */
export interface WideSpan {
  span: number;
  x: number;
  width: number;
  y: number;
  height: number;
}

/** Smallest opacity, so that a single short span stays visible. */
const WEAKEST = 0.35;
/**
 * Spans of at least this width get a fainter right edge, which separates them from the next span.
 */
const EDGE = 4;
/** Smallest width of a span with text, in CSS pixels. */
const TEXT_WIDTH = 28;

export class RowPainter {
  /** One line of pixels. All lines of a row are equal, so a row is painted once and then copied. */
  private line = new Uint32Array(0);
  private pixels = new Uint32Array(0);
  private image: ImageData | null = null;

  constructor(private readonly model: TimelineModel, private readonly longest: LongestIndex) {}

  /**
   * Paints all rows of the scene. `highlighted` is null or a list of spans in ascending order. If
   * it is a list, these spans are always visible and all other spans are faded. Returns the spans
   * that are wide enough for a name.
   */
  paint(context: CanvasRenderingContext2D, scene: Scene, highlighted: Uint32Array | null): WideSpan[] {
    const { width, height } = context.canvas;
    const { layout, view, top, ratio, palette } = scene;
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.line = new Uint32Array(width);
    }
    this.pixels.fill(palette.background);
    for (const rank of layout.ranks) {
      const y0 = Math.max(0, Math.round((rank.y - top) * ratio));
      const y1 = Math.min(height, Math.round((rank.y + rank.height - 1 - top) * ratio));
      if (y1 > y0) this.pixels.fill(palette.band, y0 * width, y1 * width);
    }
    const wide: WideSpan[] = [];
    for (const placed of layout.rows) {
      const y0 = Math.round((placed.y - top) * ratio);
      const y1 = Math.round((placed.y + placed.height - top) * ratio);
      if (y1 <= 0 || y0 >= height) continue;
      this.line.fill(placed.thumb ? palette.band : palette.background);
      this.paintRow(placed, scene, highlighted !== null, wide);
      if (highlighted) this.paintHighlighted(placed, view, palette, highlighted);
      for (let y = Math.max(y0, 0); y < Math.min(y1, height); ++y) {
        this.pixels.set(this.line, y * width);
      }
    }
    context.putImageData(this.image, 0, 0);
    return wide;
  }

  private paintRow(placed: PlacedRow, scene: Scene, faded: boolean, wide: WideSpan[]): void {
    const { view, palette, ratio } = scene;
    const { start, end, label, busyBefore } = this.model.spans;
    const row = this.model.rows[placed.row];
    const colours = faded ? palette.faded : palette.fill;
    const width = this.line.length;
    const scale = width / (view.end - view.start);
    const ground = this.line[0];
    let i = firstAbove(end, row.first, row.last, view.start);
    // `free` is the first pixel that is not painted yet. Each turn paints one span that is at least two
    // pixels wide, or one pixel with all spans that start in it.
    for (let free = 0; i < row.last; ) {
      const x0 = (start[i] - view.start) * scale;
      if (x0 >= width) return;
      const x1 = (end[i] - view.start) * scale;
      if (x1 - x0 >= 2) {
        const from = Math.max(free, Math.round(x0));
        const to = Math.min(width, Math.max(from + 1, Math.round(x1)));
        // The opacity of a merged span is the share of its time in which one of its recorded spans
        // runs.
        const busy = (busyBefore[i + 1] - busyBefore[i]) / (end[i] - start[i]);
        const strength = Math.max(WEAKEST, busy);
        const colour = busy < 1 ? blend(ground, colours[label[i]], strength) : colours[label[i]];
        this.line.fill(colour, from, to);
        if (!faded) this.paintWaiting(i, view, scale, from, to, palette);
        if (to - from >= EDGE && to < width) this.line[to - 1] = blend(this.line[to - 1], ground, 0.6);
        if (!placed.thumb && to - from >= TEXT_WIDTH * ratio) {
          wide.push({ span: i, x: from, width: to - from, y: placed.y, height: placed.height });
        }
        free = to;
        ++i;
        continue;
      }
      const x = Math.max(free, Math.floor(x0));
      if (x >= width) return;
      let next = Math.max(i + 1, gallop(start, i, row.last, view.start + (x + 1) / scale));
      // The last span may start in this pixel and end far to the right. Then the next turn paints
      // it.
      if (next > i + 1 && (end[next - 1] - start[next - 1]) * scale >= 2) --next;
      const cover = (busyBefore[next] - busyBefore[i]) * scale;
      const top = next - i > 1 ? this.longest.find(i, next) : i;
      const strength = Math.min(1, Math.max(WEAKEST, cover));
      this.line[x] = blend(ground, colours[label[top]], strength);
      free = x + 1;
      i = next;
    }
  }

  /**
   * If a span belongs to a collective, paints the part of the span before the last arrival in the
   * colour of waiting.
   */
  private paintWaiting(
    span: number,
    view: View,
    scale: number,
    from: number,
    to: number,
    palette: Palette,
  ): void {
    const index = this.model.collectiveOf.get(span);
    if (index === undefined || to - from < EDGE) return;
    const { lastArrival } = this.model.collectives[index];
    // A member that ends before the last member arrives, such as the root of a broadcast, did not
    // wait.
    if (lastArrival > this.model.spans.end[span]) return;
    const until = Math.round((lastArrival - view.start) * scale);
    this.line.fill(palette.waiting, from, Math.min(to, Math.max(from, until)));
  }

  /** Paints the highlighted spans of a row in full colour and at least one pixel wide. */
  private paintHighlighted(placed: PlacedRow, view: View, palette: Palette, highlighted: Uint32Array): void {
    const { start, end, label } = this.model.spans;
    const row = this.model.rows[placed.row];
    const width = this.line.length;
    const scale = width / (view.end - view.start);
    const first = firstAbove(end, row.first, row.last, view.start);
    const last = lowerBound(highlighted, row.last);
    for (let k = lowerBound(highlighted, first), free = 0; k < last; ) {
      const i = highlighted[k];
      const x0 = (start[i] - view.start) * scale;
      if (x0 >= width) return;
      const to = Math.min(width, Math.ceil(Math.max((end[i] - view.start) * scale, x0 + 1)));
      this.line.fill(palette.fill[label[i]], Math.max(free, Math.floor(x0)), to);
      free = Math.max(free, to);
      // Thousands of spans can end in the pixel that was just painted. A binary search skips these
      // spans.
      k = firstEndingAfter(end, highlighted, k + 1, last, view.start + free / scale);
    }
  }
}

/**
 * The first k in [from, to) for which the span highlighted[k] ends after `time`; `to` if there is
 * none. All these spans must be in one row.
 */
function firstEndingAfter(
  end: Float64Array,
  highlighted: Uint32Array,
  from: number,
  to: number,
  time: number,
): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (end[highlighted[middle]] > time) to = middle;
    else from = middle + 1;
  }
  return from;
}

/**
 * The first i for which values[i] >= limit; values.length if there is none. `values` must be
 * ascending.
 */
export function lowerBound(values: Uint32Array, limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
