// SPDX-License-Identifier: Apache-2.0
// Computes the vertical positions of ranks, lanes and rows. They depend on which ranks and lanes
// are folded. A folded rank or lane shows its first rows as thumbnails, which are thin rows without
// text.
import type { TimelineModel } from "./model";

export const RANK_HEIGHT = 24;
const ROW_HEIGHT = 17;
const HOST_ROW_HEIGHT = 14;
const THUMB_HEIGHT = 5;
const MOST_THUMBS = 4;
const LANE_GAP = 4;
/** The most ranks that are open when the page is loaded. */
const MOST_OPEN = 8;

export interface PlacedRow {
  row: number;
  y: number;
  height: number;
  thumb: boolean;
}

export interface PlacedRank {
  rank: number;
  y: number;
  height: number;
  open: boolean;
}

export interface PlacedLane {
  lane: number;
  y: number;
  height: number;
  open: boolean;
  canFold: boolean;
}

export interface Layout {
  rows: PlacedRow[];
  ranks: PlacedRank[];
  lanes: PlacedLane[];
  height: number;
  /** The place of each row of the model; undefined if the row is not shown. */
  placeOf: (PlacedRow | undefined)[];
  /** The y coordinate of lines that belong to a lane but to none of its visible spans: the lower edge of
   *  its first row, or the middle of the folded lane or rank. */
  laneLine: number[];
}

/** Which ranks and lanes are folded. */
export class Folds {
  readonly ranks: boolean[];
  readonly lanes: boolean[];

  /**
   * When the page is loaded, ranks that are similar to an earlier rank are folded. If more than
   * MOST_OPEN ranks are not similar to an earlier rank, all ranks after the first MOST_OPEN ranks
   * are folded. Host threads are folded unless the job has only one rank.
   */
  constructor(model: TimelineModel) {
    const alone = model.ranks.filter((rank, i) => rank.like === i).length;
    this.ranks = model.ranks.map((rank, i) => rank.like !== i || (alone > MOST_OPEN && i >= MOST_OPEN));
    this.lanes = model.lanes.map((lane) => lane.group === "host" && model.ranks.length > 1);
  }

  /**
   * Opens the ranks through which the critical path goes, unless there are more than MOST_OPEN of
   * these ranks.
   */
  openPath(model: TimelineModel): void {
    const lanes = [...new Set(model.path.lane)].filter((lane) => lane >= 0);
    const ranks = new Set(lanes.map((lane) => model.lanes[lane].rank));
    if (ranks.size <= MOST_OPEN) ranks.forEach((rank) => (this.ranks[rank] = false));
  }

  setAll(folded: boolean): void {
    this.ranks.fill(folded);
    if (!folded) this.lanes.fill(false);
  }
}

/** Places at most MOST_THUMBS rows as thumbnails; returns the y below the last one. */
function placeThumbs(layout: Layout, rows: number[], y: number): number {
  for (const row of rows.slice(0, MOST_THUMBS)) {
    layout.rows.push({ row, y, height: THUMB_HEIGHT, thumb: true });
    y += THUMB_HEIGHT + 1;
  }
  return y;
}

export function placeRows(model: TimelineModel, folds: Folds): Layout {
  const layout: Layout = { rows: [], ranks: [], lanes: [], height: 0, placeOf: [], laneLine: [] };
  const rowsOf: number[][] = model.lanes.map(() => []);
  model.rows.forEach((row, i) => rowsOf[row.lane].push(i));
  const lanesOf: number[][] = model.ranks.map(() => []);
  model.lanes.forEach((lane, i) => lanesOf[lane.rank].push(i));

  let y = 0;
  model.ranks.forEach((_, rank) => {
    const open = !folds.ranks[rank];
    layout.ranks.push({ rank, y, height: RANK_HEIGHT, open });
    if (!open) {
      const isDevice = (lane: number) => /stream|track/.test(model.lanes[lane].group);
      const devices = lanesOf[rank].filter(isDevice);
      const shown = devices.length > 0 ? devices : lanesOf[rank];
      placeThumbs(layout, shown.map((lane) => rowsOf[lane][0]).slice(0, 3), y + 4);
      y += RANK_HEIGHT;
      for (const lane of lanesOf[rank]) layout.laneLine[lane] = y - RANK_HEIGHT / 2;
      return;
    }
    y += RANK_HEIGHT;
    for (const lane of lanesOf[rank]) {
      const top = y;
      const isOpen = !folds.lanes[lane] || rowsOf[lane].length === 1;
      if (isOpen) {
        const height = model.lanes[lane].group === "host" ? HOST_ROW_HEIGHT : ROW_HEIGHT;
        for (const row of rowsOf[lane]) {
          layout.rows.push({ row, y, height: height - 1, thumb: false });
          y += height;
        }
        layout.laneLine[lane] = top + height - 1;
      } else {
        y = Math.max(placeThumbs(layout, rowsOf[lane], y), y + ROW_HEIGHT);
        layout.laneLine[lane] = top + ROW_HEIGHT / 2;
      }
      const canFold = rowsOf[lane].length > 1;
      layout.lanes.push({ lane, y: top, height: y - top, open: isOpen, canFold });
      y += LANE_GAP;
    }
  });
  layout.height = y;
  for (const placed of layout.rows) layout.placeOf[placed.row] = placed;
  return layout;
}

/** The row at `y`; undefined if `y` is between rows. */
export function rowAt(layout: Layout, y: number): PlacedRow | undefined {
  let low = 0;
  let high = layout.rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (layout.rows[middle].y <= y) low = middle + 1;
    else high = middle;
  }
  const row = layout.rows[low - 1];
  return row && y < row.y + row.height + 1 ? row : undefined;
}

/** Opens the rank and the lane of a row. Returns whether the rank or the lane was folded before. */
export function reveal(model: TimelineModel, folds: Folds, row: number): boolean {
  const lane = model.rows[row].lane;
  const rank = model.lanes[lane].rank;
  const wasFolded = folds.ranks[rank] || folds.lanes[lane];
  folds.ranks[rank] = false;
  folds.lanes[lane] = false;
  return wasFolded;
}
