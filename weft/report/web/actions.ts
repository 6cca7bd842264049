// SPDX-License-Identifier: Apache-2.0
// All commands of the timeline. Keys, pointer and buttons call these functions.

export interface Actions {
  /**
   * `factor` < 1 zooms in. `at` (ns) keeps its place on the screen; without it, the selection if it is
   * visible, else the middle of the view.
   */
  zoomBy(factor: number, at?: number): void;
  /** Moves by a share of the visible width; positive moves to later times. */
  panBy(share: number): void;
  scrollBy(pixels: number): void;
  fitAll(): void;
  /** Zooms to the selection or, without one, to the measured interval. */
  fitSelection(): void;
  /** Selects the next (1) or the previous (-1) span of the same row. */
  selectBeside(by: 1 | -1): void;
  /** Selects the nearest span in a row below (1) or above (-1). */
  selectAcross(by: 1 | -1): void;
  hasSelection(): boolean;
  clear(): void;
  /** Measures the selection, or removes the measurement. */
  toggleMark(): void;
  togglePath(): void;
  /** Folds or opens the rank of the selection. */
  toggleRankFold(): void;
  setAllFolds(folded: boolean): void;
  focusSearch(): void;
  nextHit(back: boolean): void;
  showHelp(): void;
}
