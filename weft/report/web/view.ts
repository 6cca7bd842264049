// SPDX-License-Identifier: Apache-2.0
// The visible time interval, and functions that zoom and move it. Times are nanoseconds.

export interface View {
  start: number;
  end: number;
}

/** The begin of the recording and its end (`length`). */
export interface Extent {
  begin: number;
  length: number;
}

/** Shortest view: recorded times have a resolution of 1 ns, so a shorter view shows no more detail. */
const SHORTEST = 50;
/** How far the view may reach beyond the recording, as a share of its length. */
const MARGIN = 0.02;

export function fitAll({ begin, length }: Extent): View {
  const whole = Math.max(length - begin, SHORTEST);
  return { start: begin - whole * MARGIN * 0.5, end: begin + whole * (1 + MARGIN * 0.5) };
}

/** Limits the size of a view and moves it into the recording, with its margin. */
export function clampView(view: View, { begin, length }: Extent): View {
  const whole = Math.max(length - begin, SHORTEST);
  const low = begin - whole * MARGIN;
  const high = begin + whole * (1 + MARGIN);
  const size = Math.min(Math.max(view.end - view.start, SHORTEST), high - low);
  const middle = (view.start + view.end) / 2;
  const start = Math.min(Math.max(middle - size / 2, low), high - size);
  return { start, end: start + size };
}

/** `factor` < 1 zooms in; the time `at` keeps its place on the screen. */
export function zoom(view: View, factor: number, at: number, extent: Extent): View {
  const size = view.end - view.start;
  const wanted = Math.max(SHORTEST, size * factor);
  const share = (at - view.start) / size;
  const start = at - share * wanted;
  return clampView({ start, end: start + wanted }, extent);
}

/** Moves the view by a share of its length; positive moves to later times. */
export function pan(view: View, share: number, extent: Extent): View {
  const by = (view.end - view.start) * share;
  return clampView({ start: view.start + by, end: view.end + by }, extent);
}

/** The interval with a quarter of its length on both sides. */
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
