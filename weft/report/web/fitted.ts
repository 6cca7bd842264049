// SPDX-License-Identifier: Apache-2.0
// Draws a chart again whenever its available width changes. Scaling the SVG instead would change
// the size of the text.
import { el } from "./dom";

const LEAST = 560;

/**
 * A box that contains the chart that `draw` returns. `draw` gets the width in CSS pixels, which is
 * at least LEAST. On a narrower page, the reader can scroll the chart.
 */
export function fitted(draw: (width: number) => SVGElement): HTMLElement {
  const box = el("div", { class: "scroll" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.max(LEAST, Math.floor(box.clientWidth));
    if (width === drawn || box.clientWidth === 0) return;
    drawn = width;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}
