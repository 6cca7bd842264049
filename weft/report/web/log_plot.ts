// SPDX-License-Identifier: Apache-2.0
// Draws a chart of curves with two logarithmic axes.
import { svg } from "./dom";

export interface Curve {
  name: string;
  /** A custom property of colours.css. */
  colour: string;
  dash: string;
  points: { x: number; y: number; title: string }[];
}

export interface Axes {
  /** Description for screen readers. */
  name: string;
  xText: (value: number) => string;
  yText: (value: number) => string;
  yTitle: string;
}

const HEIGHT = 340;
const TOP = 26;
const BOTTOM = 30;
const LEFT = 76;
const RIGHT = 34;

interface Scale {
  low: number;
  high: number;
  at: (value: number) => number;
}

/**
 * A scale from `from` to `to` pixels. It covers at least a factor of 2, so that it also works if
 * all values are equal.
 */
function scale(values: number[], from: number, to: number): Scale {
  const low = Math.min(...values);
  const high = Math.max(...values, low * 2);
  const length = Math.log(high / low);
  return { low, high, at: (value) => from + (Math.log(value / low) / length) * (to - from) };
}

/**
 * The values of ticks: 1, 10, 100 ... If the scale covers less than three decades, also 2, 5, 20,
 * 50 ...
 */
function decimals({ low, high }: Scale): number[] {
  const steps = high / low < 1000 ? [1, 2, 5] : [1];
  const found: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    found.push(...steps.map((step) => step * power).filter((v) => v >= low && v <= high));
  }
  return found;
}

/**
 * The values of ticks on the axis of sizes: the lowest size times powers of two, because the
 * measured sizes double from row to row. If there are too many ticks, only some of them are kept,
 * so that about `wanted` remain.
 */
function doublings({ low, high }: Scale, wanted: number): number[] {
  const all: number[] = [];
  for (let value = low; value <= high * 1.001; value *= 2) all.push(value);
  const every = Math.max(1, Math.ceil(all.length / wanted));
  return all.filter((_, i) => i % every === 0);
}

/** Shortens a number with a unit: "1 ms" for "1.000 ms". */
function short(text: string): string {
  return Number.parseFloat(text) + text.slice(text.indexOf(" "));
}

export function logPlot(curves: Curve[], axes: Axes, width: number): SVGElement {
  const points = curves.flatMap((curve) => curve.points);
  const x = scale(points.map((p) => p.x), LEFT, width - RIGHT);
  const y = scale(points.map((p) => p.y), HEIGHT - BOTTOM, TOP);
  const label = (at: Record<string, string | number>, text: string) =>
    svg("text", { class: "tick", ...at }, text);
  const rows = decimals(y).flatMap((value) => [
    svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y.at(value), y2: y.at(value) }),
    label({ x: LEFT - 8, y: y.at(value) + 4, "text-anchor": "end" }, short(axes.yText(value))),
  ]);
  const columns = doublings(x, (width - LEFT) / 90).map((value) =>
    label({ x: x.at(value), y: HEIGHT - 8, "text-anchor": "middle" }, axes.xText(value)),
  );
  const lines = curves.map((curve) => {
    const style = `--curve: var(${curve.colour})`;
    const path = curve.points.map((p) => `${x.at(p.x).toFixed(1)},${y.at(p.y).toFixed(1)}`).join(" ");
    const dots = curve.points.map((p) =>
      svg("circle", { cx: x.at(p.x), cy: y.at(p.y), r: 3.5 }, svg("title", {}, p.title)),
    );
    const line = svg("polyline", { points: path, "stroke-dasharray": curve.dash });
    return svg("g", { class: "curve", style }, svg("title", {}, curve.name), line, ...dots);
  });
  return svg(
    "svg",
    { width, height: HEIGHT, class: "picture", role: "img", "aria-label": axes.name },
    label({ x: LEFT - 8, y: 12, "text-anchor": "end" }, axes.yTitle),
    ...rows,
    ...columns,
    ...lines,
  );
}
