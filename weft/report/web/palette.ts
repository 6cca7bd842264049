// SPDX-License-Identifier: Apache-2.0
// Reads the colours of the timeline's canvases from the style sheet, so that canvases and HTML use
// the same colours. They are read again after a change of theme. A pixel is a number 0xAABBGGRR,
// because canvases store RGBA bytes, and typed arrays are little endian on all supported devices.
import type { TimelineModel } from "./model";

export interface Palette {
  /** Fill colour and text colour per label. */
  fill: Uint32Array;
  text: string[];
  /** Fill colour per label for spans that are not highlighted, if other spans are highlighted. */
  faded: Uint32Array;
  waiting: number;
  /** The colour of waiting as a CSS colour. */
  waitingStyle: string;
  background: number;
  band: number;
  ink: string;
  muted: string;
  line: string;
  accent: string;
  halo: string;
  /** CSS colour per span class. */
  classes: string[];
}

type Rgb = [number, number, number];

function parse(colour: string): Rgb {
  const digits = colour.trim().replace("#", "");
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16)) as Rgb;
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return a.map((channel, i) => Math.round(channel + (b[i] - channel) * share)) as Rgb;
}

function pixel([r, g, b]: Rgb): number {
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

/**
 * Mixes two pixels. `share` is the part of `b` in the result, from 0 to 1. Red and blue are
 * computed with the same multiplication.
 */
export function blend(a: number, b: number, share: number): number {
  const s = (share * 256) | 0;
  const rb = ((a & 0xff00ff) * (256 - s) + (b & 0xff00ff) * s) >>> 8;
  const g = (((a >>> 8) & 0xff) * (256 - s) + ((b >>> 8) & 0xff) * s) >>> 8;
  return (0xff000000 | (rb & 0xff00ff) | (g << 8)) >>> 0;
}

function isLight([r, g, b]: Rgb): boolean {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140;
}

function hash(text: string): number {
  let value = 0;
  for (let i = 0; i < text.length; ++i) value = (value * 31 + text.charCodeAt(i)) | 0;
  return value >>> 0;
}

/** For each span class, the custom property of its colour without the prefix "--weft-". */
const CLASS_STYLE: Record<string, string> = {
  compute: "compute",
  memory_copy: "memory-copy",
  communication: "exposed-transfer",
  data_loading: "data-loading",
  runtime: "host-launch",
  host_op: "host-op",
  range: "range",
  profiler: "profiler",
  waiting: "waiting",
};

export function styleOf(spanClass: string): string {
  return CLASS_STYLE[spanClass] ?? "idle";
}

/**
 * Shades of a colour. The name of a span selects its shade, so that readers can distinguish
 * neighbouring spans of the same class.
 */
const SHADES = [0, 0.12, 0.24, -0.1, -0.2];

export function readPalette(element: Element, model: TimelineModel): Palette {
  const style = getComputedStyle(element);
  const get = (name: string) => style.getPropertyValue(`--weft-${name}`).trim();
  const background = parse(get("surface"));
  const classes = model.classes.map((name) => get(styleOf(name)));
  const colours = model.names.map((name, label) => {
    const base = parse(classes[model.labelClass[label]]);
    const shade = SHADES[hash(name) % SHADES.length];
    return mix(base, shade < 0 ? [0, 0, 0] : [255, 255, 255], Math.abs(shade));
  });
  return {
    fill: Uint32Array.from(colours, pixel),
    faded: Uint32Array.from(colours, (colour) => pixel(mix(colour, background, 0.72))),
    text: colours.map((colour) => (isLight(colour) ? "#10151c" : "#ffffff")),
    waiting: pixel(parse(get("waiting"))),
    waitingStyle: get("waiting"),
    background: pixel(background),
    band: pixel(parse(get("band"))),
    ink: get("ink"),
    muted: get("muted"),
    line: get("line"),
    accent: get("accent"),
    halo: get("surface"),
    classes,
  };
}
