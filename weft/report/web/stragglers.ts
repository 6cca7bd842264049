// SPDX-License-Identifier: Apache-2.0
// Makes the section that shows which ranks arrive late at collectives, how often, and how long the
// other ranks wait for them.
import { el } from "./dom";
import { count, exactMs, several, share, withUnit } from "./figures";
import { formatBytes } from "./format";
import { HeatMapView } from "./heat_map";
import type { Jump, PageData } from "./page_data";
import { nothing, Section, section } from "./section";
import { collapsedTable } from "./data_table";

const MOST_ROWS = 200;

function lead(page: PageData): string {
  const worst = page.ranks.reduce((a, b) => (b.made_wait > a.made_wait ? b : a));
  const { collectives, rows } = page.heat_map;
  const shown =
    rows.length < page.ranks.length
      ? ` The chart shows the ${rows.length} ranks that others wait for longest.`
      : "";
  return (
    `How long after the first rank each rank arrives at a collective; ${several(collectives, "collective")} ` +
    `in order of time. Rank ${worst.rank} arrived last at ${count(worst.came_last)} of ` +
    `${several(worst.collectives, "collective")} (${share(worst.came_last, worst.collectives)}); the first ` +
    `ranks to arrive waited ${withUnit(worst.made_wait)} for it in total.${shown}`
  );
}

function lateRanksTable(page: PageData): HTMLElement {
  return collapsedTable(
    "lateness by rank",
    [
      { title: "rank" },
      { title: "collectives" },
      { title: "arrived last" },
      { title: "others waited, ms" },
    ],
    () =>
      page.ranks.map((r) => [
        String(r.rank),
        String(r.collectives),
        String(r.came_last),
        exactMs(r.made_wait),
      ]),
  );
}

function collectivesTable(page: PageData): HTMLElement {
  const { columns } = page.heat_map;
  const worst = [...columns].sort((a, b) => b.last - b.first - (a.last - a.first)).slice(0, MOST_ROWS);
  const details = collapsedTable(
    "collectives, largest skew first",
    [
      { title: "#" },
      { title: "collective", text: true },
      { title: "size" },
      { title: "step" },
      { title: "skew ms" },
      { title: "last rank" },
      { title: "transfer ms" },
    ],
    () =>
      worst.map((c) => [
        String(c.index),
        c.kind,
        formatBytes(c.bytes),
        c.step < 0 ? "" : String(c.step),
        exactMs(c.last - c.first),
        String(c.last_rank),
        exactMs(c.end - c.last),
      ]),
  );
  const summary = details.querySelector("summary");
  if (summary) summary.textContent = "collectives as a table";
  return details;
}

export interface Stragglers extends Section {
  /** Draws the heat map again, after a change of theme. */
  redraw: () => void;
}

export function stragglers(page: PageData, jump: Jump): Stragglers {
  const title = "Who is late";
  if (page.heat_map.columns.length === 0) {
    const why = page.ranks.length > 1 ? "No collective was recorded on two or more ranks." : "The job has only one rank.";
    return { ...section("stragglers", title, null, nothing(why)), redraw: () => undefined };
  }
  const view = new HeatMapView(page.heat_map, jump);
  const part = section(
    "stragglers",
    title,
    lead(page),
    el("div", { class: "scroll" }, view.element),
    lateRanksTable(page),
    collectivesTable(page),
  );
  return { ...part, redraw: () => view.draw() };
}
