// SPDX-License-Identifier: Apache-2.0
// Draws Gantt charts of pipeline schedules. A chart has one row per device. Time goes to the right,
// and idle time is shaded. All charts of a page have the same time scale, so that readers can
// compare them.
import { el, svg } from "./dom";
import { exactMs, several, share, ticks, withUnit } from "./figures";
import { fitted } from "./fitted";
import { collapsedTable } from "./data_table";

/** The JSON that write_charts() of schedule_chart.cc writes. */
export interface ScheduleChart {
  title: string;
  /** True if times are nanoseconds, false if they are abstract units of the schedule. */
  in_nanos: boolean;
  step: number;
  /** The idle part of the total time of all rows, from 0 to 1. */
  idle: number;
  microbatches: number;
  rows: ScheduleRow[];
}

export interface ScheduleRow {
  name: string;
  /** One letter per op, a key of KINDS. */
  kinds: string;
  /** Four numbers per op: stage, micro-batch, start, end. */
  ops: number[];
}

const KINDS: [string, string][] = [
  ["F", "forward"],
  ["I", "gradient of the input"],
  ["W", "gradient of the weights"],
  ["B", "whole backward"],
];
const LEFT = 96;
const RIGHT = 8;
const TOP = 4;
const ROW = 22;
const GAP = 4;
const AXIS = 22;
/** Width of a digit in CSS pixels. */
const DIGIT = 7;
/**
 * The largest number of texts in a row. More texts would be unreadable and would slow the page
 * down.
 */
const MOST_TEXTS = 200;

type Scale = (time: number) => number;

/**
 * Draws one row. All ops of the same kind are drawn as one SVG path. A schedule can have thousands
 * of ops, and one SVG element per op would be slow.
 */
function drawRow(row: ScheduleRow, top: number, step: number, x: Scale): SVGElement[] {
  const paths = new Map<string, string>();
  const texts: SVGElement[] = [];
  for (let i = 0; i < row.kinds.length; ++i) {
    const [, micro, start, end] = row.ops.slice(4 * i, 4 * i + 4);
    const from = x(start);
    const width = x(end) - from;
    const outline = `M${from.toFixed(2)} ${top}h${width.toFixed(2)}v${ROW}h${(-width).toFixed(2)}z`;
    paths.set(row.kinds[i], (paths.get(row.kinds[i]) ?? "") + outline);
    if (width < DIGIT * String(micro).length + 3 || texts.length >= MOST_TEXTS) continue;
    texts.push(svg("text", { class: "gantt-micro", x: from + width / 2, y: top + 15 }, String(micro)));
  }
  return [
    svg("text", { class: "gantt-name", x: LEFT - 8, y: top + 15 }, row.name),
    // The idle bar spans the whole step. Ops are drawn over it, so it stays visible only where no op runs.
    svg("rect", { class: "gantt-idle", x: LEFT, y: top, width: x(step) - LEFT, height: ROW }),
    ...[...paths].map(([kind, d]) => svg("path", { class: `gantt-${kind}`, d })),
    ...texts,
  ];
}

function time(chart: ScheduleChart, value: number): string {
  return chart.in_nanos ? withUnit(value) : String(value);
}

/** Title of a chart: its name, length, idle share and number of micro-batches. */
function titleOf(chart: ScheduleChart): string {
  const idle = share(chart.idle, 1);
  return `${chart.title}: ${time(chart, chart.step)}, ${idle} idle, ${several(chart.microbatches, "micro-batch").replace(/hs$/, "hes")}`;
}

function drawChart(chart: ScheduleChart, longest: number, width: number): SVGElement {
  const x: Scale = (at) => LEFT + ((width - LEFT - RIGHT) * at) / longest;
  const bottom = TOP + chart.rows.length * (ROW + GAP);
  const unit = chart.in_nanos ? 1e6 : 1;
  const axis = ticks(longest / unit, 8).flatMap((tick) => [
    svg("line", { class: "gantt-tick", x1: x(tick * unit), x2: x(tick * unit), y1: TOP, y2: bottom }),
    svg("text", { class: "gantt-time", x: x(tick * unit), y: bottom + 14 }, String(Number(tick.toPrecision(6)))),
  ]);
  return svg(
    "svg",
    { class: "gantt", width, height: bottom + AXIS, role: "img", "aria-label": titleOf(chart) },
    ...axis,
    ...chart.rows.flatMap((row, i) => drawRow(row, TOP + i * (ROW + GAP), chart.step, x)),
  );
}

function legend(charts: ScheduleChart[]): HTMLElement {
  const used = new Set(charts.flatMap((chart) => chart.rows.flatMap((row) => [...row.kinds])));
  const entries = KINDS.filter(([kind]) => used.has(kind)).map(([kind, name]) =>
    el("span", {}, el("i", { class: `gantt-key gantt-key-${kind}` }), `${kind} ${name}`),
  );
  entries.push(el("span", {}, el("i", { class: "gantt-key gantt-key-idle" }), "idle"));
  return el("p", { class: "gantt-legend" }, ...entries);
}

function numbersTable(chart: ScheduleChart): HTMLElement {
  const unit = chart.in_nanos ? ", ms" : "";
  const exact = (value: number) => (chart.in_nanos ? exactMs(value) : String(value));
  const columns = [
    { title: "device", text: true },
    { title: "op", text: true },
    { title: `start${unit}` },
    { title: `end${unit}` },
  ];
  return collapsedTable(`ops of ${chart.title}`, columns, () =>
    chart.rows.flatMap((row) =>
      [...row.kinds].map((kind, i) => {
        const [stage, micro, start, end] = row.ops.slice(4 * i, 4 * i + 4);
        return [row.name, `${stage}${kind}${micro}`, exact(start), exact(end)];
      }),
    ),
  );
}

export function gantt(charts: ScheduleChart[]): HTMLElement[] {
  const longest = Math.max(1, ...charts.map((chart) => chart.step));
  return [
    legend(charts),
    ...charts.flatMap((chart) => [
      el("h3", { class: "gantt-title" }, titleOf(chart)),
      fitted((width) => drawChart(chart, longest, width)),
      numbersTable(chart),
    ]),
  ];
}
