// SPDX-License-Identifier: Apache-2.0
// What every painter must know: which rows and times are on the screen, how large it is, and its
// colours. Lengths are CSS pixels; `ratio` of them make a pixel of the screen.
import type { Layout } from "./layout";
import type { Palette } from "./palette";
import type { View } from "./view";

/** Where things are. */
export interface Place {
  layout: Layout;
  view: View;
  /** First visible pixel of the rows. */
  top: number;
  width: number;
}

export interface Scene extends Place {
  height: number;
  ratio: number;
  palette: Palette;
}
