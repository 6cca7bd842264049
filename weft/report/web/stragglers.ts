// SPDX-License-Identifier: Apache-2.0
// Who comes late to collectives, how often, and what that costs the others.
import { el } from "./dom";
import { count, exactMs, several, share, withUnit } from "./figures";
import { formatBytes } from "./format";
import { HeatMapView } from "./heat_map";
import type { Jump, PageData } from "./page_data";
import { nothing, Section, section } from "./section";
import { tableTwin } from "./table_twin";

const MOST_ROWS = 200;

function lead(page: PageData): string {
  const worst = page.ranks.reduce((a, b) => (b.made_wait > a.made_wait ? b : a));
  const { collectives, rows } = page.heat_map;
  const shown = rows.length < page.ranks.length ? ` The ${rows.length} latest ranks are shown.` : "";
  return (
    `How long after the first rank each one came to ${several(collectives, "collective")}, ` +
    `in order of time. Rank ${worst.rank} came last ${count(worst.came_last)} of ` +
    `${count(worst.collectives)} times (${share(worst.came_last, worst.collectives)}) and kept the ` +
    `first to come waiting for ${withUnit(worst.made_wait)} in all.${shown}`
  );
}

function rankTwin(page: PageData): HTMLElement {
  return tableTwin(
    "lateness by rank",
    [{ title: "rank" }, { title: "collectives" }, { title: "came last" }, { title: "made wait ms" }],
    () =>
      page.ranks.map((r) => [
        String(r.rank),
        String(r.collectives),
        String(r.came_last),
        exactMs(r.made_wait),
      ]),
  );
}

function collectiveTwin(page: PageData): HTMLElement {
  const { columns } = page.heat_map;
  const worst = [...columns].sort((a, b) => b.last - b.first - (a.last - a.first)).slice(0, MOST_ROWS);
  const details = tableTwin(
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
  redraw: () => void;
}

export function stragglers(page: PageData, jump: Jump): Stragglers {
  const title = "Who is late";
  if (page.heat_map.columns.length === 0) {
    const why = page.ranks.length > 1 ? "No collective was recorded on two ranks." : "One rank only.";
    return { ...section("stragglers", title, null, nothing(why)), redraw: () => undefined };
  }
  const view = new HeatMapView(page.heat_map, jump);
  const part = section(
    "stragglers",
    title,
    lead(page),
    el("div", { class: "scroll" }, view.element),
    rankTwin(page),
    collectiveTwin(page),
  );
  return { ...part, redraw: () => view.draw() };
}
