// SPDX-License-Identifier: Apache-2.0
// Everything a user can do to a timeline. Keys, pointer and buttons all end here.

export interface Actions {
  /** `factor` < 1 zooms in, about `at` (ns) or the selection or the middle. */
  zoomBy(factor: number, at?: number): void;
  /** A share of the width; positive: later. */
  panBy(share: number): void;
  scrollBy(pixels: number): void;
  fitAll(): void;
  /** The selection, else the measured stretch. */
  fitSelection(): void;
  /** Another span of the same row. */
  selectBeside(by: 1 | -1): void;
  /** The nearest span of the row above or below. */
  selectAcross(by: 1 | -1): void;
  hasSelection(): boolean;
  clear(): void;
  /** Measures the selection, or forgets what was measured. */
  toggleMark(): void;
  togglePath(): void;
  /** Of the selection. */
  toggleRankFold(): void;
  setAllFolds(folded: boolean): void;
  focusSearch(): void;
  nextHit(back: boolean): void;
  showHelp(): void;
}
