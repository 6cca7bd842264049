// SPDX-License-Identifier: Apache-2.0
// Paints everything that is drawn over the spans: hover, selection, arrows, the critical path and
// the measured interval. The overlay is a separate canvas, so that the spans need not be painted
// again when the pointer moves.
import { formatTime } from "./format";
import { arrowsOf } from "./links";
import type { TimelineModel } from "./model";
import { paintPath, pathPoints } from "./path_line";
import type { Place, Scene } from "./scene";
import { timeToX, View } from "./view";

/** What the overlay shows. `hovered` and `selected` are spans, or -1 if there is no such span. */
export interface OverlayState {
  hovered: number;
  selected: number;
  path: boolean;
  /** The measured interval. */
  mark: View | null;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export class Overlay {
  constructor(
    private readonly model: TimelineModel,
    private readonly context: CanvasRenderingContext2D,
  ) {}

  paint(scene: Scene, state: OverlayState): void {
    const { context } = this;
    const { width, height, palette } = scene;
    context.clearRect(0, 0, width, height);
    this.paintSteps(scene);
    if (state.mark) this.paintMark(state.mark, scene);
    if (state.path) paintPath(context, pathPoints(this.model, scene), palette.halo, palette.ink);
    const focus = state.selected >= 0 ? state.selected : state.hovered;
    if (focus >= 0) this.paintArrows(focus, scene);
    if (state.hovered >= 0) this.paintBox(state.hovered, scene, palette.ink, 1);
    if (state.selected >= 0) this.paintBox(state.selected, scene, palette.accent, 3);
  }

  private paintSteps({ view, width, height, palette }: Scene): void {
    this.context.globalAlpha = 0.5;
    this.context.fillStyle = palette.muted;
    for (const { end } of this.model.steps) {
      const x = Math.round(timeToX(view, end, width));
      if (x >= 0 && x <= width) this.context.fillRect(x, 0, 1, height);
    }
    this.context.globalAlpha = 1;
  }

  private paintMark(mark: View, { view, width, height, palette }: Scene): void {
    const { context } = this;
    const x0 = timeToX(view, Math.min(mark.start, mark.end), width);
    const x1 = timeToX(view, Math.max(mark.start, mark.end), width);
    context.fillStyle = palette.accent;
    context.globalAlpha = 0.15;
    context.fillRect(x0, 0, x1 - x0, height);
    context.globalAlpha = 1;
    context.fillRect(x0, 0, 1, height);
    context.fillRect(x1, 0, 1, height);
    const text = formatTime(Math.abs(mark.end - mark.start));
    context.font = "bold 12px system-ui, sans-serif";
    const at = Math.min(width - 80, Math.max(4, (x0 + x1) / 2 - 25));
    context.fillStyle = palette.halo;
    context.fillRect(at - 4, 4, context.measureText(text).width + 8, 18);
    context.fillStyle = palette.ink;
    context.textBaseline = "middle";
    context.fillText(text, at, 13);
  }

  private paintArrows(span: number, scene: Scene): void {
    const { context } = this;
    const { palette } = scene;
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    for (const [from, to] of arrowsOf(this.model, span)) {
      const a = this.start(from, scene);
      const b = this.start(to, scene);
      const bend = Math.max(12, Math.abs(b.x - a.x) / 2);
      context.beginPath();
      context.moveTo(a.x, a.y);
      context.bezierCurveTo(a.x + bend, a.y, b.x - bend, b.y, b.x, b.y);
      context.stroke();
      context.fillStyle = palette.accent;
      context.beginPath();
      context.arc(b.x, b.y, 3, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /**
   * The point at which an arrow touches a span. If the row of the span is folded, this is a point
   * on the line of the lane.
   */
  private start(span: number, { layout, view, top, width }: Scene): { x: number; y: number } {
    const row = this.model.spans.row[span];
    const place = layout.placeOf[row];
    const y = place ? place.y + place.height / 2 : layout.laneLine[this.model.rows[row].lane];
    return { x: timeToX(view, this.model.spans.start[span], width), y: y - top };
  }

  private paintBox(span: number, scene: Scene, colour: string, line: number): void {
    const box = spanBox(this.model, scene, span);
    if (!box) return;
    this.context.strokeStyle = colour;
    this.context.lineWidth = line;
    this.context.strokeRect(box.x - line / 2, box.y - line / 2, box.width + line, box.height + line);
  }
}

/**
 * The place of a span on the canvas, at least two pixels wide; null if the row of the span is
 * folded.
 */
export function spanBox(
  model: TimelineModel,
  { layout, view, top, width }: Place,
  span: number,
): Box | null {
  const place = layout.placeOf[model.spans.row[span]];
  if (!place) return null;
  const x = Math.max(-10, timeToX(view, model.spans.start[span], width));
  const right = Math.min(width + 10, timeToX(view, model.spans.end[span], width));
  return { x, y: place.y - top, width: Math.max(2, right - x), height: place.height };
}
