// SPDX-License-Identifier: Apache-2.0
// Paints names on spans that are wide enough. `highlighted` has the highlighted spans in ascending
// order. The names of all other spans are faded. If `highlighted` is null, no name is faded.
import type { TimelineModel } from "./model";
import { lowerBound, WideSpan } from "./paint";
import type { Scene } from "./scene";

const FONT_SIZE = 11;
const PADDING = 4;
/**
 * The largest number of names that are painted. Painting text is slow, so only the widest spans get
 * a name.
 */
const MOST = 400;

export function paintLabels(
  context: CanvasRenderingContext2D,
  model: TimelineModel,
  wide: WideSpan[],
  { top, ratio, palette }: Scene,
  highlighted: Uint32Array | null,
): void {
  context.font = `${FONT_SIZE * ratio}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  // About the width of a character. Measuring every text would take longer than painting it.
  const character = context.measureText("ncclDevKernel_AllReduce").width / 21.5;
  const shown =
    wide.length > MOST ? [...wide].sort((a, b) => b.width - a.width).slice(0, MOST) : wide;
  for (const { span, x, width, y, height } of shown) {
    const label = model.spans.label[span];
    const room = Math.floor((width - 2 * PADDING * ratio) / character);
    const count = model.spans.count.length > 0 ? model.spans.count[span] : 1;
    const name = count > 1 ? `${count} spans, ${model.shortNames[label]}` : model.shortNames[label];
    if (room < 3) continue;
    const text = name.length > room ? `${name.slice(0, room - 1)}…` : name;
    const isFaded = highlighted !== null && highlighted[lowerBound(highlighted, span)] !== span;
    context.fillStyle = isFaded ? palette.muted : palette.text[label];
    context.fillText(text, x + PADDING * ratio, (y + height / 2 + 0.5 - top) * ratio, width - PADDING * ratio);
  }
}
