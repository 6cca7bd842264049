// SPDX-License-Identifier: Apache-2.0
// Entry point of the page of link tables. It shows what was measured, the curves, the pairs of
// ranks, and commands that use the tables.
import { el } from "./dom";
import { formatBytes, formatTime } from "./format";
import { linkBandwidth, LinkPage, LinkTable } from "./link_data";
import { linkCurves } from "./link_curves";
import { linkPairs } from "./link_pairs";
import { Section } from "./section";
import { readPage, showPage, use } from "./short_page";

const SHORT: Record<string, string> = { pairs: "pairs", use: "use it" };
/** Number of figures that fit on one line. */
const FIGURES = 5;

function figure(table: LinkTable): HTMLElement {
  const value = el("span", { class: "figure-value" }, `${formatBytes(linkBandwidth(table.rows) * 1e6)}/s`);
  const most = formatBytes(table.rows[table.rows.length - 1].bytes);
  const what = `${table.collective} of ${most}, ${table.ranks} ranks; latency ${formatTime(table.rows[0].time)}`;
  return el("div", { class: "figure" }, value, el("span", { class: "figure-what" }, what));
}

function head(page: LinkPage): HTMLElement {
  return el(
    "header",
    { id: "verdict", class: "verdict" },
    el("h1", {}, page.file),
    el("p", { class: "facts" }, page.facts.join(" · ")),
    el("div", { class: "figures" }, ...page.tables.slice(0, FIGURES).map(figure)),
  );
}

const page = readPage<LinkPage>();
const parts = [...linkCurves(page), linkPairs(page), use(page)].filter(
  (part): part is Section => part !== null,
);
showPage(head(page), parts, SHORT, ["time", "skip to the curves"]);
