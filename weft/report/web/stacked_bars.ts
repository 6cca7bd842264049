// SPDX-License-Identifier: Apache-2.0
// Makes a chart of horizontal bars that consist of coloured parts. It has one bar per row, and all
// bars have the same scale.
import { Child, el } from "./dom";
import { milliseconds, share, withUnit } from "./figures";

export interface Part {
  label: string;
  time: number;
  colour: string;
  /** Text inside the part, if it fits; by default the time. */
  text?: string;
}

export interface Bar {
  label: Child;
  /** Name for screen readers. */
  name: string;
  parts: Part[];
  /** Ends of the error bar. */
  low?: number;
  high?: number;
  /** The text to the right of the bar; by default the sum of the parts. */
  value?: Child;
  strong?: boolean;
}

/** A part gets no text if it is shorter than this share of the scale. */
const ROOM_FOR_TEXT = 0.055;

function drawPart(part: Part, total: number, scale: number): HTMLElement {
  const text = part.text ?? milliseconds(part.time);
  return el(
    "span",
    {
      class: "part",
      style: `width:${(100 * part.time) / scale}%;--part:${part.colour}`,
      title: `${part.label}: ${withUnit(part.time)}, ${share(part.time, total)}`,
    },
    part.time / scale > ROOM_FOR_TEXT ? el("span", {}, text) : null,
  );
}

function whisker(low: number, high: number, scale: number): HTMLElement {
  const left = (100 * low) / scale;
  const width = (100 * (high - low)) / scale;
  return el("span", { class: "whisker", style: `left:${left}%;width:${width}%` });
}

export function stackedBars(bars: Bar[], name: string): HTMLElement {
  const total = (bar: Bar) => bar.parts.reduce((sum, part) => sum + part.time, 0);
  const scale = Math.max(1, ...bars.map((bar) => Math.max(total(bar), bar.high ?? 0)));
  const rows = bars.flatMap((bar) => {
    const sum = total(bar);
    const parts = bar.parts.filter((part) => part.time > 0);
    const description = parts.map((part) => `${part.label} ${withUnit(part.time)}`).join(", ");
    const error = bar.low !== undefined && bar.high !== undefined && bar.high > bar.low;
    return [
      el("span", { class: bar.strong ? "stack-label strong" : "stack-label" }, bar.label),
      el(
        "span",
        { class: "stack", role: "img", "aria-label": `${bar.name}: ${description}` },
        ...parts.map((part) => drawPart(part, sum, scale)),
        error ? whisker(bar.low ?? 0, bar.high ?? 0, scale) : null,
      ),
      el("span", { class: "stack-value" }, bar.value ?? withUnit(sum)),
    ];
  });
  return el("div", { class: "stacks", role: "group", "aria-label": name }, ...rows);
}
