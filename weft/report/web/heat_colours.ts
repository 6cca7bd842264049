// SPDX-License-Identifier: Apache-2.0
// Maps lateness to colours. The scale has one hue and gets more distinct from the background as lateness
// grows, so that the heat map is readable for colour-blind readers and in greyscale.

type Rgb = [number, number, number];

export interface HeatScale {
  /** CSS colour of a lateness in nanoseconds. */
  colour: (late: number) => string;
  /** Colour of a cell whose rank takes no part in the collective. */
  none: string;
  largest: number;
  gradient: string;
}

function parse(colour: string): Rgb {
  const digits = colour.trim().replace("#", "");
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16)) as Rgb;
}

function mix(stops: Rgb[], at: number): string {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const channel = (i: number) =>
    Math.round(stops[low][i] + (stops[low + 1][i] - stops[low][i]) * (place - low));
  return `rgb(${channel(0)},${channel(1)},${channel(2)})`;
}

/**
 * Reads the colours from the style of `element`. The colour depends on the square root of the
 * lateness, because most values are much smaller than the largest value and would be invisible on a
 * linear scale.
 */
export function heatScale(element: Element, largest: number): HeatScale {
  const style = getComputedStyle(element);
  const get = (name: string) => style.getPropertyValue(`--weft-${name}`);
  const stops = ["heat-0", "heat-1", "heat-2"].map((name) => parse(get(name)));
  const samples = [0, 0.25, 0.5, 0.75, 1].map((at) => mix(stops, Math.sqrt(at)));
  return {
    colour: (late) => mix(stops, Math.sqrt(late / Math.max(largest, 1))),
    none: get("surface"),
    largest,
    gradient: `linear-gradient(to right, ${samples.join(",")})`,
  };
}
