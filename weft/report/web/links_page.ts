// SPDX-License-Identifier: Apache-2.0
// The page of link tables: what was measured, the curves, the pairs, what to do with it.
import { command, el } from "./dom";
import { formatBytes, formatTime } from "./format";
import { bandwidth, LinkPage, LinkTable } from "./link_data";
import { linkCurves } from "./link_curves";
import { linkPairs } from "./link_pairs";
import { Section, section } from "./section";
import { themeSwitch } from "./theme";

const SHORT: Record<string, string> = { pairs: "pairs", use: "use it" };
/** More do not fit into a line. */
const FIGURES = 5;

function figure(table: LinkTable): HTMLElement {
  const peak = Math.max(...table.rows.map((row) => bandwidth(row.bytes, row.alone)));
  const value = el("span", { class: "figure-value" }, `${formatBytes(peak * 1e6)}/s`);
  const what = `${table.collective}, ${table.ranks} ranks; latency ${formatTime(table.rows[0].alone)}`;
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

function use(page: LinkPage): Section {
  const list = page.commands.map((item) =>
    el("li", {}, command(item.command), el("span", { class: "what" }, item.what)),
  );
  const version = el("p", { class: "facts" }, `Weft ${page.version}`);
  return section("use", "What to do with it", null, el("ul", { class: "commands" }, ...list), version);
}

function showPage(): void {
  const data = document.getElementById("report-data")?.textContent ?? "";
  const page = JSON.parse(data) as LinkPage;
  const parts = [...linkCurves(page), linkPairs(page), use(page)].filter(
    (part): part is Section => part !== null,
  );
  const links = parts.map((part) =>
    el("a", { href: `#${part.id}` }, SHORT[part.id] ?? part.title.toLowerCase()),
  );
  document.getElementById("page")?.append(
    el("a", { href: "#time", class: "skip" }, "skip to the curves"),
    el(
      "nav",
      { "aria-label": "parts of the report" },
      el("span", { class: "brand" }, "weft"),
      ...links,
      // Curves take their colours from the style sheet: nothing to draw again.
      themeSwitch(() => undefined),
    ),
    el("main", {}, head(page), ...parts.map((part) => part.element)),
  );
}

showPage();
