// SPDX-License-Identifier: Apache-2.0
// Declares all commands of the timeline. Keys, pointer and buttons call these functions.

export interface Actions {
  /**
   * A `factor` below 1 zooms in. The time `at` (ns) keeps its place on the screen. Without `at`,
   * the selection keeps its place if it is visible, else the middle of the view.
   */
  zoomBy(factor: number, at?: number): void;
  /** Moves the view by a share of its width. A positive share moves to later times. */
  panBy(share: number): void;
  scrollBy(pixels: number): void;
  fitAll(): void;
  /** Zooms to the selected span. If no span is selected, zooms to the measured interval. */
  fitSelection(): void;
  /** Selects the next (1) or the previous (-1) span of the same row. */
  selectBeside(by: 1 | -1): void;
  /** Selects the nearest span in a row below (1) or above (-1). */
  selectAcross(by: 1 | -1): void;
  hasSelection(): boolean;
  clear(): void;
  /** Measures the selected span, or removes the measurement if there is one. */
  toggleMark(): void;
  togglePath(): void;
  /** Folds or opens the rank of the selected span. */
  toggleRankFold(): void;
  setAllFolds(folded: boolean): void;
  focusSearch(): void;
  nextHit(back: boolean): void;
  showHelp(): void;
}
