// SPDX-License-Identifier: Apache-2.0
// Paints the ruler above the rows, which shows the steps and ticks at round times.
import { formatPoint } from "./format";
import type { TimelineModel } from "./model";
import type { Scene } from "./scene";
import { timeToX, View } from "./view";

const TICK_WIDTH = 110;
export const RULER_HEIGHT = 40;

/** The smallest value that is at least `least` and is 1, 2 or 5 times a power of ten. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const found = [1, 2, 5].find((factor) => factor * power >= least);
  return (found ?? 10) * power;
}

/** Times of ticks that are at least TICK_WIDTH pixels apart, so that their labels do not overlap. */
export function tickTimes(view: View, width: number): { times: number[]; step: number } {
  const step = roundStep(Math.max(1, ((view.end - view.start) / width) * TICK_WIDTH));
  const times: number[] = [];
  for (let t = Math.ceil(view.start / step) * step; t <= view.end; t += step) times.push(t);
  return { times, step };
}

export function paintRuler(
  context: CanvasRenderingContext2D,
  model: TimelineModel,
  { view, width, palette }: Scene,
): void {
  context.clearRect(0, 0, width, RULER_HEIGHT);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  model.steps.forEach((step, i) => {
    const x0 = Math.max(0, timeToX(view, step.start, width));
    const x1 = Math.min(width, timeToX(view, step.end, width));
    if (x1 <= x0) return;
    context.globalAlpha = i % 2 === 0 ? 0.16 : 0.3;
    context.fillStyle = palette.muted;
    context.fillRect(x0, 0, x1 - x0, 17);
    context.globalAlpha = 1;
    context.fillStyle = palette.ink;
    if (x1 - x0 > 52) context.fillText(`step ${step.number}`, x0 + 6, 9);
    else if (x1 - x0 > 18) context.fillText(`${step.number}`, x0 + 3, 9);
  });
  const { times, step } = tickTimes(view, width);
  for (const time of times) {
    const x = Math.round(timeToX(view, time, width)) + 0.5;
    context.fillStyle = palette.line;
    context.fillRect(x, 20, 1, RULER_HEIGHT - 20);
    context.fillStyle = palette.muted;
    context.fillText(formatPoint(time, step), x + 4, 30);
  }
}
