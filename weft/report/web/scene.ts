// SPDX-License-Identifier: Apache-2.0
// Declares what every painter needs: the visible rows and times, the size of the canvas, and the
// colours. Lengths are CSS pixels; `ratio` is the number of device pixels per CSS pixel.
import type { Layout } from "./layout";
import type { Palette } from "./palette";
import type { View } from "./view";

/** What is needed to find the place of a row and a time on the canvas. */
export interface Place {
  layout: Layout;
  view: View;
  /** The y coordinate of the first visible pixel of the rows. */
  top: number;
  width: number;
}

export interface Scene extends Place {
  height: number;
  ratio: number;
  palette: Palette;
}
