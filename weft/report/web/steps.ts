// SPDX-License-Identifier: Apache-2.0
// Makes the section of step times. The chart has one group of bars per step, and a group has one
// bar per rank.
import { el, svg } from "./dom";
import { exactMs, milliseconds, ticks, withUnit } from "./figures";
import { fitted } from "./fitted";
import { foldRanks, mean, Shown } from "./fold_ranks";
import type { PageData } from "./page_data";
import { nothing, Section, section } from "./section";
import { collapsedTable } from "./data_table";

const HEIGHT = 220;
const LEFT = 52;
const BOTTOM = 24;
const TOP = 18;
const WIDEST_BAR = 28;

/** `y` maps times to pixels. `slot` is the width of a group of bars. */
interface Scale {
  width: number;
  y: (time: number) => number;
  slot: number;
}

function axis(limit: number, { width, y }: Scale): SVGElement[] {
  return ticks(limit, 4).flatMap((time) => [
    svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(time), y2: y(time) }),
    svg("text", { class: "tick", x: LEFT - 8, y: y(time) + 4, "text-anchor": "end" }, milliseconds(time)),
  ]);
}

function group(page: PageData, rows: Shown[], step: number, scale: Scale): SVGElement[] {
  const times = rows.map((row) => mean(row, (rank) => rank.steps[step]));
  const slowest = Math.max(...times);
  const left = LEFT + step * scale.slot;
  const wide = Math.min(WIDEST_BAR, (scale.slot * 0.8) / rows.length);
  const start = left + (scale.slot - wide * rows.length) / 2;
  const floor = HEIGHT - BOTTOM;
  const bars = rows.map((row, i) => {
    const y = scale.y(times[i]);
    const isSlowest = row.ranks.length === 1 && row.ranks[0].rank === page.late_rank;
    return svg(
      "rect",
      {
        class: isSlowest ? "step-bar slowest" : "step-bar",
        x: start + i * wide,
        y,
        width: Math.max(wide - (wide > 4 ? 1.5 : 0), 0.5),
        height: floor - y,
      },
      svg("title", {}, `step ${page.job.steps[step]}, ${row.label}: ${withUnit(times[i])}`),
    );
  });
  // A label needs 48 pixels. If labels would overlap, only every n-th group gets one.
  const every = Math.ceil(48 / scale.slot);
  if (step % every !== 0) return bars;
  const middle = left + scale.slot / 2;
  const at = { x: middle, "text-anchor": "middle" };
  return [
    ...bars,
    svg("text", { class: "tick", ...at, y: HEIGHT - 6 }, `step ${page.job.steps[step]}`),
    svg("text", { class: "value", ...at, y: scale.y(slowest) - 5 }, milliseconds(slowest)),
  ];
}

function picture(page: PageData, rows: Shown[], width: number): SVGElement {
  const steps = page.job.steps.length;
  const limit = Math.max(...page.ranks.flatMap((rank) => rank.steps), 1);
  const y = (time: number) => HEIGHT - BOTTOM - (time / limit) * (HEIGHT - BOTTOM - TOP);
  const scale: Scale = { width, y, slot: (width - LEFT) / steps };
  const groups = page.job.steps.flatMap((_, step) => group(page, rows, step, scale));
  const name = `step time of ${page.ranks.length} ranks over ${steps} steps, in milliseconds`;
  const box = { width, height: HEIGHT, class: "picture", role: "img", "aria-label": name };
  return svg("svg", box, ...axis(limit, scale), ...groups);
}

export function steps(page: PageData): Section {
  const title = "Step time per step and rank";
  if (page.job.steps.length === 0) {
    return section("steps", title, null, nothing("No step was recorded on every rank."));
  }
  const rows = foldRanks(page, (rank) => rank.step);
  const numbers = collapsedTable(
    "step time, ms",
    [{ title: "rank" }, ...page.job.steps.map((n) => ({ title: `step ${n}` })), { title: "mean" }],
    () => page.ranks.map((r) => [String(r.rank), ...r.steps.map(exactMs), exactMs(r.step)]),
  );
  const lead = el("span", {});
  lead.append("Milliseconds from the end of the previous step to the end of the step. One bar per rank");
  if (page.ranks.length > 1) {
    const name = `rank ${page.late_rank}`;
    lead.append("; the other ranks wait for ", el("span", { class: "slowest-name" }, name));
  }
  lead.append(".");
  return section("steps", title, lead, fitted((width) => picture(page, rows, width)), numbers);
}
