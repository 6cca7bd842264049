// SPDX-License-Identifier: Apache-2.0
// Defines the visible time interval (a View), and functions that zoom and move it. Times are
// nanoseconds.

export interface View {
  start: number;
  end: number;
}

/** The times at which the recording begins (`begin`) and ends (`length`). */
export interface Extent {
  begin: number;
  length: number;
}

/**
 * Length of the shortest view. Recorded times have a resolution of 1 ns, so a shorter view would
 * not show more detail.
 */
const SHORTEST = 50;
/**
 * How far the view may reach beyond each end of the recording, as a share of the recording's
 * length.
 */
const MARGIN = 0.02;

export function fitAll({ begin, length }: Extent): View {
  const whole = Math.max(length - begin, SHORTEST);
  return { start: begin - whole * MARGIN * 0.5, end: begin + whole * (1 + MARGIN * 0.5) };
}

/**
 * Limits the length of a view, and moves it so that it does not reach further beyond the recording
 * than MARGIN allows.
 */
export function clampView(view: View, { begin, length }: Extent): View {
  const whole = Math.max(length - begin, SHORTEST);
  const low = begin - whole * MARGIN;
  const high = begin + whole * (1 + MARGIN);
  const size = Math.min(Math.max(view.end - view.start, SHORTEST), high - low);
  const middle = (view.start + view.end) / 2;
  const start = Math.min(Math.max(middle - size / 2, low), high - size);
  return { start, end: start + size };
}

/** Zooms the view. A `factor` below 1 zooms in. The time `at` keeps its place on the screen. */
export function zoom(view: View, factor: number, at: number, extent: Extent): View {
  const size = view.end - view.start;
  const wanted = Math.max(SHORTEST, size * factor);
  const share = (at - view.start) / size;
  const start = at - share * wanted;
  return clampView({ start, end: start + wanted }, extent);
}

/** Moves the view by a share of its length. A positive share moves to later times. */
export function pan(view: View, share: number, extent: Extent): View {
  const by = (view.end - view.start) * share;
  return clampView({ start: view.start + by, end: view.end + by }, extent);
}

/** A view that shows the interval, and a quarter of its length before and after it. */
export function around(start: number, end: number, extent: Extent): View {
  const room = Math.max((end - start) * 0.25, SHORTEST / 2);
  return clampView({ start: start - room, end: end + room }, extent);
}

export function timeToX(view: View, time: number, width: number): number {
  return ((time - view.start) / (view.end - view.start)) * width;
}

export function xToTime(view: View, x: number, width: number): number {
  return view.start + (x / width) * (view.end - view.start);
}
