// SPDX-License-Identifier: Apache-2.0
// Makes the charts of time and bandwidth over the size of the array. A chart has one curve for each
// collective and each way of timing (see WAYS). The reader chooses which curves are drawn. The
// table always has all numbers.
import { Child, el } from "./dom";
import { fitted } from "./fitted";
import { formatBytes, formatTime } from "./format";
import { bandwidth, curveName, LinkPage, LinkRow, LinkTable, WAYS } from "./link_data";
import { Curve, logPlot } from "./log_plot";
import { nothing, Section, section } from "./section";
import { collapsedTable } from "./data_table";

const COLOURS = 7;

/** "1 KiB" for 1024. The measured sizes are powers of two, so binary units give short labels. */
export function binarySize(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    ++unit;
  }
  return `${Number(bytes.toPrecision(3))} ${units[unit]}`;
}

function rate(value: number): string {
  return `${formatBytes(value * 1e6)}/s`;
}

type Way = (typeof WAYS)[number];

/**
 * A quantity for the y axis. `value` computes it from a row and one time of the row; `text` formats
 * it.
 */
interface Measure {
  value: (row: LinkRow, nanos: number) => number;
  text: (value: number) => string;
}

const TIME: Measure = { value: (_, nanos) => nanos, text: formatTime };
const SPEED: Measure = { value: (row, nanos) => bandwidth(row.bytes, nanos), text: rate };

function curve(table: LinkTable, index: number, way: Way, measure: Measure): Curve {
  const rows = table.rows.filter((row) => row[way.key] > 0);
  const name = `${curveName(table)}, ${way.name}`;
  return {
    name,
    colour: `--weft-curve-${index % COLOURS}`,
    dash: way.dash,
    points: rows.map((row) => {
      const y = measure.value(row, row[way.key]);
      return { x: row.bytes, y, title: `${name}: ${formatBytes(row.bytes)}, ${measure.text(y)}` };
    }),
  };
}

/** A checkbox with a label. When the user changes it, `changed` is called with its new state. */
function choice(content: Child[], changed: (on: boolean) => void): HTMLElement {
  const box = el("input", { type: "checkbox", checked: true });
  box.addEventListener("change", () => changed(box.checked));
  return el("label", {}, box, ...content);
}

/** The curves that the reader has chosen. The two charts share this choice. */
class Shown {
  readonly tables = new Set<number>();
  readonly ways = new Set<string>();
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly page: LinkPage) {
    page.tables.forEach((_, i) => this.tables.add(i));
    WAYS.forEach((way) => this.ways.add(way.key));
  }

  legend(): HTMLElement {
    const toggle = <T>(set: Set<T>, item: T) => (on: boolean) => {
      if (on) set.add(item);
      else set.delete(item);
      this.listeners.forEach((listener) => listener());
    };
    const curves = this.page.tables.map((table, i) => {
      const colour = `background: var(--weft-curve-${i % COLOURS})`;
      const swatch = el("span", { class: "swatch", style: colour });
      return el("li", {}, choice([swatch, curveName(table)], toggle(this.tables, i)));
    });
    const rows = this.page.tables.flatMap((table) => table.rows);
    const ways = WAYS.filter((way) => rows.some((row) => row[way.key] > 0)).map((way) => {
      const line = el("span", { class: `line ${way.key.replace(/_/g, "-")}` });
      return el("li", {}, choice([line, way.name], toggle(this.ways, way.key as string)));
    });
    return el("ul", { class: "legend choices-in-line" }, ...curves, ...ways);
  }

  picture(measure: Measure, name: string, title: string): HTMLElement {
    const holder = el("div", {});
    const axes = { name, xText: binarySize, yText: measure.text, yTitle: title };
    const show = () => {
      const curves = this.page.tables
        .flatMap((table, i) => (this.tables.has(i) ? this.curvesOf(table, i, measure) : []))
        .filter((one) => one.points.length > 0);
      const content =
        curves.length > 0
          ? fitted((width) => logPlot(curves, axes, width))
          : nothing("No curve is selected.");
      holder.replaceChildren(content);
    };
    this.listeners.push(show);
    show();
    return holder;
  }

  private curvesOf(table: LinkTable, index: number, measure: Measure): Curve[] {
    const ways = WAYS.filter((way) => this.ways.has(way.key));
    return ways.map((way) => curve(table, index, way, measure));
  }
}

function micros(nanos: number): string {
  return nanos > 0 ? (nanos / 1e3).toFixed(3) : "";
}

function numbersTable(page: LinkPage): HTMLElement {
  return collapsedTable(
    "times by size, us",
    [
      { title: "collective", text: true },
      { title: "ranks" },
      { title: "bytes" },
      { title: "alone" },
      { title: "shortest" },
      { title: "spread" },
      { title: "back to back" },
      { title: "two at once" },
      { title: "calls" },
      { title: "MB/s alone" },
      { title: "MB/s back to back" },
    ],
    () =>
      page.tables.flatMap((table) =>
        table.rows.map((row) => [
          table.collective,
          String(table.ranks),
          String(row.bytes),
          micros(row.alone),
          micros(row.shortest),
          micros(row.spread),
          micros(row.back_to_back),
          micros(row.two_at_once),
          row.calls > 0 ? String(row.calls) : "",
          bandwidth(row.bytes, row.alone).toFixed(1),
          row.back_to_back > 0 ? bandwidth(row.bytes, row.back_to_back).toFixed(1) : "",
        ]),
      ),
  );
}

export function linkCurves(page: LinkPage): Section[] {
  const shown = new Shown(page);
  const time = shown.picture(TIME, "time of a call by size, both logarithmic", "time");
  const speed = shown.picture(SPEED, "bandwidth by size, both logarithmic", "bandwidth");
  const timeLead =
    "alone: median time of single calls. back to back: time per call if many calls run one after the " +
    "other. two at once: time per call if two calls always run at the same time. Where a curve is flat, " +
    "latency limits the call; where it rises, bandwidth does.";
  const speedLead =
    "Bytes of the array divided by the times above. An all-reduce sends nearly twice as many bytes over the network.";
  return [
    section("time", "Time by size", timeLead, shown.legend(), time, numbersTable(page)),
    section("bandwidth", "Bandwidth by size", speedLead, speed),
  ];
}
