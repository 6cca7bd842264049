// SPDX-License-Identifier: Apache-2.0
// Has the parts that the page of link tables and the page of plans have in common: reading the
// data, the navigation bar, and the list of commands.
import { command, el } from "./dom";
import { Section, section } from "./section";
import { themeSwitch } from "./theme";

/** The JSON members that the two pages have in common. */
export interface ShortPage {
  version: string;
  commands: { command: string; what: string }[];
}

/** The last section, which lists commands that use the tables or plans of the page. */
export function use(page: ShortPage): Section {
  const list = page.commands.map((item) =>
    el("li", {}, command(item.command), el("span", { class: "what" }, item.what)),
  );
  const version = el("p", { class: "facts" }, `Weft ${page.version}`);
  return section("use", "What to do with it", null, el("ul", { class: "commands" }, ...list), version);
}

/** The JSON data in the page. */
export function readPage<Page>(): Page {
  return JSON.parse(document.getElementById("report-data")?.textContent ?? "") as Page;
}

/**
 * Shows the page. `short` maps ids of sections to names in the navigation bar. For a section that
 * `short` lacks, the bar shows the title. `skip` has the target and the text of the link that skips
 * the navigation bar.
 */
export function showPage(
  head: HTMLElement,
  parts: Section[],
  short: Record<string, string>,
  skip: [string, string],
): void {
  const links = parts.map((part) =>
    el("a", { href: `#${part.id}` }, short[part.id] ?? part.title.toLowerCase()),
  );
  document.getElementById("page")?.append(
    el("a", { href: `#${skip[0]}`, class: "skip" }, skip[1]),
    el(
      "nav",
      { "aria-label": "parts of the report" },
      el("span", { class: "brand" }, "weft"),
      ...links,
      // After a change of theme, only canvases must be drawn again, and these pages have no canvas.
      themeSwitch(() => undefined),
    ),
    el("main", {}, head, ...parts.map((part) => part.element)),
  );
}
