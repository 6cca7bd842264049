// SPDX-License-Identifier: Apache-2.0
// Makes the section of memory over time. The chart has one curve per device. The curve with the
// highest peak is drawn in front, and its peak has a label.
import { el, svg } from "./dom";
import { exactMs, several, ticks } from "./figures";
import { fitted } from "./fitted";
import type { Jump, MemoryCurve, MemoryPeak, PageData } from "./page_data";
import { nothing, Section, section } from "./section";
import { collapsedTable } from "./data_table";

const HEIGHT = 240;
const LEFT = 64;
const BOTTOM = 26;
const TOP = 30;
const GB = 1e9;

const SOURCES: Record<string, string> = {
  allocator: "Totals as the allocator recorded them.",
  allocations:
    "Sum of recorded allocations and frees; memory that was allocated before the recording is missing.",
  estimated:
    "No allocations were recorded. The curve is an estimate from shapes: the inputs that forward ops keep " +
    "for the backward pass. It is a lower bound.",
};

function gigabytes(bytes: number): string {
  return `${(bytes / GB).toFixed(2)} GB`;
}

function deviceName(device: number): string {
  return device < 0 ? "host" : `device ${device}`;
}

/** The text about a peak: "1.23 GB in aten::mm of step 3". */
function named(peak: MemoryPeak): string {
  const op = peak.op === "" ? "" : ` in ${peak.op}`;
  const step = peak.step < 0 ? "" : ` of step ${peak.step}`;
  return `${gigabytes(peak.bytes)}${op}${step}`;
}

interface Scale {
  width: number;
  x: (time: number) => number;
  y: (bytes: number) => number;
}

/** The SVG path of a curve. The curve keeps the value of a point until the next point. */
function outline(curve: MemoryCurve, scale: Scale): string {
  return curve.times
    .map((time, i) => {
      const x = scale.x(time).toFixed(1);
      const y = scale.y(curve.bytes[i]).toFixed(1);
      return i === 0 ? `M${x} ${y}` : `H${x}V${y}`;
    })
    .join("");
}

function marker(peak: MemoryPeak, rank: number, scale: Scale): SVGElement[] {
  const x = scale.x(peak.time);
  const y = scale.y(peak.bytes);
  const right = x > scale.width * 0.6;
  return [
    svg("line", { class: "peak-line", x1: x, x2: x, y1: y, y2: HEIGHT - BOTTOM }),
    svg("circle", { class: "peak", cx: x, cy: y, r: 4.5 }),
    svg(
      "text",
      { class: "value", x: x + (right ? -8 : 8), y: y - 9, "text-anchor": right ? "end" : "start" },
      `rank ${rank}: ${named(peak)}`,
    ),
  ];
}

function picture(curves: MemoryCurve[], width: number): SVGElement {
  const highest = curves.reduce((a, b) => (b.peak.bytes > a.peak.bytes ? b : a));
  const first = Math.min(...curves.map((curve) => curve.times[0]));
  const last = Math.max(...curves.map((curve) => curve.times[curve.times.length - 1]), first + 1);
  const limit = Math.max(highest.peak.bytes, 1);
  const scale: Scale = {
    width,
    x: (time) => LEFT + ((time - first) / (last - first)) * (width - LEFT - 20),
    y: (bytes) => HEIGHT - BOTTOM - (bytes / limit) * (HEIGHT - BOTTOM - TOP),
  };
  const others = curves.filter((curve) => curve !== highest);
  const line = (curve: MemoryCurve, kind: string) =>
    svg("path", { class: kind, d: outline(curve, scale) }, svg("title", {}, `rank ${curve.rank}`));
  const name = `memory over time, highest on rank ${highest.rank}: ${named(highest.peak)}`;
  return svg(
    "svg",
    { width, height: HEIGHT, class: "picture", role: "img", "aria-label": name },
    ...ticks(limit / GB, 4).flatMap((tick) => [
      svg("line", { class: "grid", x1: LEFT, x2: width, y1: scale.y(tick * GB), y2: scale.y(tick * GB) }),
      svg(
        "text",
        { class: "tick", x: LEFT - 8, y: scale.y(tick * GB) + 4, "text-anchor": "end" },
        `${Number(tick.toPrecision(3))} GB`,
      ),
    ]),
    ...ticks((last - first) / 1e6, width / 140).map((tick) =>
      svg(
        "text",
        { class: "tick", x: scale.x(first + tick * 1e6), y: HEIGHT - 8, "text-anchor": "middle" },
        `${Number(tick.toPrecision(6))} ms`,
      ),
    ),
    ...others.map((curve) => line(curve, "memory-line other")),
    line(highest, "memory-line"),
    ...marker(highest.peak, highest.rank, scale),
  );
}

export function memory(page: PageData, jump: Jump): Section {
  const title = "Memory over time";
  const peaks = page.ranks.flatMap((rank) => (rank.memory ? [{ rank: rank.rank, ...rank.memory }] : []));
  if (page.memory.length === 0) {
    const hint =
      "The recording has neither allocations nor shapes. To record allocations, use weft record --memory, or " +
      "pass profile_memory=True to the PyTorch profiler.";
    return section("memory", title, null, nothing(hint));
  }
  const highest = page.memory.reduce((a, b) => (b.peak.bytes > a.peak.bytes ? b : a));
  const link = el("a", { href: "#timeline", class: "jump" }, "show the peak in the timeline");
  link.addEventListener("click", (event) => {
    event.preventDefault();
    // Show 5 ms before and 5 ms after the peak.
    jump(highest.peak.time - 5e6, highest.peak.time + 5e6, highest.rank, -1);
  });
  const hidden = peaks.length - new Set(page.memory.map((curve) => curve.rank)).size;
  const rest =
    hidden > 0
      ? ` The chart shows the ranks with the highest peaks; the table also has ${several(hidden, "other")}.`
      : "";
  const numbers = collapsedTable(
    "peaks of each rank's device with the highest peak",
    [
      { title: "rank" },
      { title: "device", text: true },
      { title: "bytes" },
      { title: "at ms" },
      { title: "step" },
      { title: "during", text: true },
      { title: "source", text: true },
    ],
    () =>
      peaks.map((peak) => [
        String(peak.rank),
        deviceName(peak.device),
        String(peak.bytes),
        exactMs(peak.time),
        peak.step < 0 ? "" : String(peak.step),
        peak.op,
        peak.source,
      ]),
  );
  return section(
    "memory",
    title,
    SOURCES[highest.source] + rest,
    fitted((width) => picture(page.memory, width)),
    el("p", {}, link),
    numbers,
  );
}
