// SPDX-License-Identifier: Apache-2.0
// Draws a strip above the timeline that shows the whole recording: how busy the devices of all
// ranks are with spans of each class, and which part of the recording is visible below. A click or
// a drag moves the visible part.
import { element } from "./details";
import type { TimelineModel } from "./model";
import type { Palette } from "./palette";
import type { Scene } from "./scene";
import { fitAll, timeToX, View, xToTime } from "./view";

export const MINIMAP_HEIGHT = 26;

/**
 * One array per class, with one time per bin. The last array, after all classes, has the time of
 * waiting for other ranks.
 */
type Bins = Float64Array[];

/**
 * Divides `view` into `count` equal bins. For each bin and each class, adds up the time of all
 * device spans of the class in the bin.
 */
export function fillBins(model: TimelineModel, view: View, count: number): Bins {
  const bins = Array.from({ length: model.classes.length + 1 }, () => new Float64Array(count));
  const size = (view.end - view.start) / count;
  const add = (into: Float64Array, from: number, to: number): void => {
    for (let x = Math.floor((from - view.start) / size); from < to && x < count; ++x) {
      const until = Math.min(to, view.start + (x + 1) * size);
      into[x] += until - from;
      from = until;
    }
  };
  const { start, end, label } = model.spans;
  for (const row of model.rows) {
    if (!/stream|track/.test(model.lanes[row.lane].group)) continue;
    for (let i = row.first; i < row.last; ++i) {
      const collective = model.collectiveOf.get(i);
      let moves = start[i];
      // A member that ends before the last member arrives did not wait (see paintWaiting() in
      // paint.ts).
      if (collective !== undefined && model.collectives[collective].lastArrival <= end[i]) {
        moves = Math.max(moves, model.collectives[collective].lastArrival);
        add(bins[model.classes.length], start[i], moves);
      }
      add(bins[model.labelClass[label[i]]], moves, end[i]);
    }
  }
  return bins;
}

export class Minimap {
  readonly canvas = element("canvas", "", "minimap");
  /**
   * The bars without the frame of the visible part. They are painted again only if the width or the
   * theme changes.
   */
  private readonly picture = element("canvas");
  private paintedFor: Palette | null = null;
  private readonly whole: View;

  constructor(private readonly model: TimelineModel, goTo: (time: number) => void) {
    this.whole = fitAll(model);
    this.canvas.setAttribute("aria-hidden", "true");
    const go = (event: PointerEvent): void => {
      if (event.buttons !== 1) return;
      this.canvas.setPointerCapture(event.pointerId);
      const box = this.canvas.getBoundingClientRect();
      goTo(xToTime(this.whole, event.clientX - box.left, box.width));
    };
    this.canvas.addEventListener("pointerdown", go);
    this.canvas.addEventListener("pointermove", go);
  }

  paint({ view, width, palette }: Scene): void {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    if (this.paintedFor !== palette || this.picture.width !== width) this.paintPicture(width, palette);
    context.clearRect(0, 0, width, MINIMAP_HEIGHT);
    context.drawImage(this.picture, 0, 0);
    const x0 = Math.max(1, timeToX(this.whole, view.start, width));
    const x1 = Math.min(width - 1, timeToX(this.whole, view.end, width));
    context.globalAlpha = 0.75;
    context.fillStyle = palette.halo;
    context.fillRect(0, 0, x0, MINIMAP_HEIGHT);
    context.fillRect(x1, 0, width - x1, MINIMAP_HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = palette.ink;
    context.strokeRect(x0 - 0.5, 0.5, Math.max(3, x1 - x0), MINIMAP_HEIGHT - 1);
  }

  /**
   * In each pixel column, stacks the times of the classes. The highest column fills the height of
   * the strip.
   */
  private paintPicture(width: number, palette: Palette): void {
    this.paintedFor = palette;
    this.picture.width = width;
    this.picture.height = MINIMAP_HEIGHT;
    const context = this.picture.getContext("2d");
    const bins = fillBins(this.model, this.whole, width);
    const colours = [...palette.classes, palette.waitingStyle];
    const sums = bins[0].map((_, x) => bins.reduce((sum, bin) => sum + bin[x], 0));
    const most = sums.reduce((a, b) => Math.max(a, b), 1);
    const below = new Float64Array(width);
    bins.forEach((bin, i) => {
      if (!context) return;
      context.fillStyle = colours[i];
      bin.forEach((time, x) => {
        const height = (time / most) * (MINIMAP_HEIGHT - 3);
        below[x] += height;
        if (height > 0) context.fillRect(x, MINIMAP_HEIGHT - 1 - below[x], 1, height);
      });
    });
  }
}
