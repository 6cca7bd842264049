// SPDX-License-Identifier: Apache-2.0
// Makes the section that says how far to trust the numbers. It shows the problems of the input, the
// error of the replay, how well the clocks agree, and what Weft inferred because it was not
// recorded.
import { el } from "./dom";
import { count, share, withUnit } from "./figures";
import type { Clock, Diagnostic, PageData, RankData } from "./page_data";
import { Section, section } from "./section";
import { table, collapsedTable } from "./data_table";

const ORDER = ["data loss", "warning", "info"];

function diagnosticItem(item: Diagnostic): HTMLElement {
  const badge = el("span", { class: `badge ${item.severity.replace(" ", "-")}` }, item.severity);
  const places = item.places.length > 0 ? el("p", { class: "places" }, item.places.join("; ")) : null;
  return el(
    "li",
    {},
    el("p", {}, badge, " ", el("code", {}, item.id), ` ${count(item.count)}×`),
    el("p", {}, item.what),
    el("p", { class: "advice" }, item.advice),
    places,
  );
}

function diagnostics(page: PageData): HTMLElement {
  const list = [...page.quality.diagnostics].sort(
    (a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity),
  );
  if (list.length === 0) return el("p", {}, "Weft found no problems in the input.");
  return el("ul", { class: "diagnostics" }, ...list.map(diagnosticItem));
}

function facts(page: PageData): HTMLElement {
  const q = page.quality;
  const rows: [string, string][] = [
    [
      "replay",
      `${withUnit(q.replayed_step)} per step; recorded: ${withUnit(page.what_if.recorded.step)}; ` +
        `error at most ${(100 * q.replay_error).toFixed(2)} % on any rank and step`,
    ],
    [
      "dependencies",
      `${count(q.inferred_edges)} of ${count(q.edges)} (${share(q.inferred_edges, q.edges)}) were not ` +
        `recorded; Weft inferred them from how frameworks work`,
    ],
    ["graph", `${count(q.ops)} ops of ${count(page.ranks.length)} ranks`],
    ["interference", `compute takes ${q.interference.toFixed(2)} times as long while communication runs`],
  ];
  if (q.overhead_per_event > 0) {
    const cost = (q.overhead_per_event / 1000).toFixed(2);
    rows.push(["profiler", `${cost} µs of host time per event, subtracted from the baseline`]);
  }
  return el("dl", {}, ...rows.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}

/**
 * A small chart of a clock's offset and its 95 % confidence interval. The charts of all rows have
 * the same scale, on which the widest interval fits.
 */
function interval(clock: Clock, widest: number): HTMLElement {
  if (!clock.tied) return el("span", {}, "no event connects this clock to others");
  const place = (time: number) => 50 + (50 * time) / widest;
  const left = place(clock.offset - clock.uncertainty);
  const width = Math.max(place(clock.offset + clock.uncertainty) - left, 0.5);
  return el(
    "span",
    { class: "interval" },
    el("i", { class: "zero" }),
    el("i", { class: "whisker", style: `left:${left}%;width:${width}%` }),
    el("i", { class: "dot", style: `left:${place(clock.offset)}%` }),
  );
}

const microseconds = (nanos: number) => (nanos / 1000).toFixed(1);

function clocks(page: PageData): HTMLElement | null {
  if (page.ranks.length < 2) return null;
  const reach = (rank: RankData) => Math.abs(rank.clock.offset) + rank.clock.uncertainty;
  const widest = Math.max(...page.ranks.map(reach), 1);
  const rows = (ranks: RankData[]) =>
    ranks.map((r) => [
      String(r.rank),
      microseconds(r.clock.offset),
      microseconds(r.clock.uncertainty),
      interval(r.clock, widest),
      count(r.clock.samples),
      `${(100 * r.replay_error).toFixed(3)} %`,
    ]);
  const columns = [
    { title: "rank" },
    { title: "clock offset µs" },
    { title: "± 95 %" },
    { title: "", text: true },
    { title: "events compared" },
    { title: "replay error" },
  ];
  const caption = "clock offsets against the first rank, and error of the replay";
  if (page.ranks.length > 32) return collapsedTable(caption, columns, () => rows(page.ranks));
  return el("div", { class: "scroll" }, table(caption, columns, rows(page.ranks)));
}

export function quality(page: PageData): Section {
  return section(
    "quality",
    "Data quality",
    "Problems of the input, assumptions, and the accuracy of the numbers above.",
    diagnostics(page),
    facts(page),
    clocks(page),
  );
}
