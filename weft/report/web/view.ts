// SPDX-License-Identifier: Apache-2.0
// Which stretch of time is on the screen.

export interface View {
  start: number;
  end: number;
}

/** When the recording begins and ends. */
export interface Extent {
  begin: number;
  length: number;
}

/** Shorter stretches show nothing more. */
const SHORTEST = 50;
/** Share of the recording that may be seen beyond its ends. */
const MARGIN = 0.02;

export function fitAll({ begin, length }: Extent): View {
  const whole = Math.max(length - begin, SHORTEST);
  return { start: begin - whole * MARGIN * 0.5, end: begin + whole * (1 + MARGIN * 0.5) };
}

export function clampView(view: View, { begin, length }: Extent): View {
  const whole = Math.max(length - begin, SHORTEST);
  const low = begin - whole * MARGIN;
  const high = begin + whole * (1 + MARGIN);
  const size = Math.min(Math.max(view.end - view.start, SHORTEST), high - low);
  const middle = (view.start + view.end) / 2;
  const start = Math.min(Math.max(middle - size / 2, low), high - size);
  return { start, end: start + size };
}

/** `factor` < 1 zooms in; `at` stays where it is on the screen. */
export function zoom(view: View, factor: number, at: number, extent: Extent): View {
  const size = view.end - view.start;
  const wanted = Math.max(SHORTEST, size * factor);
  const share = (at - view.start) / size;
  const start = at - share * wanted;
  return clampView({ start, end: start + wanted }, extent);
}

/** `share` of the width of the screen; positive: later. */
export function pan(view: View, share: number, extent: Extent): View {
  const by = (view.end - view.start) * share;
  return clampView({ start: view.start + by, end: view.end + by }, extent);
}

/** A stretch with some room on both sides. */
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
