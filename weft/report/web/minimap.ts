// SPDX-License-Identifier: Apache-2.0
// Draws a strip above the timeline that shows the whole recording: how busy the devices of all
// ranks are with spans of each class, and which part of the recording is visible below. If no work
// on devices was recorded, as in a job on CPUs, the strip shows the outermost ops of all threads. A
// click or a drag moves the visible part.
import { element } from "./details";
import type { Row, TimelineModel } from "./model";
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
 * The outermost ops of a host thread: all spans that are no ranges, unless a span with the same
 * property contains them. Takes linear time. `rows` are the rows of the thread, from the top.
 */
function outermost(model: TimelineModel, rows: Row[]): number[] {
  const { start, end, label } = model.spans;
  let found: number[] = [];
  for (const row of rows) {
    const both: number[] = [];
    let next = 0;
    const takeUntil = (time: number): void => {
      while (next < found.length && start[found[next]] <= time) both.push(found[next++]);
    };
    for (let i = row.first; i < row.last; ++i) {
      if (/range|profiler/.test(model.classes[model.labelClass[label[i]]])) continue;
      takeUntil(start[i]);
      if (both.length === 0 || end[both[both.length - 1]] <= start[i]) both.push(i);
    }
    takeUntil(Infinity);
    found = both;
  }
  return found;
}

/** The spans that the strip shows. */
function shownSpans(model: TimelineModel): number[] {
  const rowsOf: Row[][] = model.lanes.map(() => []);
  for (const row of model.rows) rowsOf[row.lane].push(row);
  const all = (rows: Row[]) =>
    rows.flatMap(({ first, last }) => Array.from({ length: last - first }, (_, i) => first + i));
  const devices = model.lanes.flatMap((lane, i) => (/stream|track/.test(lane.group) ? [rowsOf[i]] : []));
  if (devices.length > 0) return devices.flatMap(all);
  return model.lanes.flatMap((lane, i) => (lane.group === "host" ? outermost(model, rowsOf[i]) : []));
}

/**
 * Divides `view` into `count` equal bins. For each bin and each class, adds up the time of all
 * spans of `shown` of the class in the bin.
 */
export function fillBins(model: TimelineModel, shown: number[], view: View, count: number): Bins {
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
  for (const i of shown) {
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
  private readonly shown: number[];

  constructor(private readonly model: TimelineModel, goTo: (time: number) => void) {
    this.whole = fitAll(model);
    this.shown = shownSpans(model);
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
    const bins = fillBins(this.model, this.shown, this.whole, width);
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
