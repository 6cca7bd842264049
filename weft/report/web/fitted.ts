// SPDX-License-Identifier: Apache-2.0
// Pictures drawn for the width there is, so that their text keeps its size.
import { el } from "./dom";

const LEAST = 560;

/** `draw` is called with the width in CSS pixels, again whenever that changes. */
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
