// SPDX-License-Identifier: Apache-2.0
// Draws a chart again whenever its available width changes, so that its text keeps its size. A scaled
// SVG would scale the text too.
import { el } from "./dom";

const LEAST = 560;

/** `draw` gets the width in CSS pixels, at least LEAST; a narrower page scrolls the chart. */
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
