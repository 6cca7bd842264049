// SPDX-License-Identifier: Apache-2.0
// The common parts of the pages of link tables and of plans: reading the data, the navigation bar, and the
// list of commands.
import { command, el } from "./dom";
import { Section, section } from "./section";
import { themeSwitch } from "./theme";

/** JSON members that both pages have. */
export interface ShortPage {
  version: string;
  commands: { command: string; what: string }[];
}

/** The last section: commands that use what the page shows. */
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
 * Shows the page. `short` maps ids of sections to names in the navigation bar; a section without one has
 * its title there. `skip` is the target and the text of the skip link.
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
      // These pages have no canvas, and CSS recolours everything else: nothing has to be drawn again.
      themeSwitch(() => undefined),
    ),
    el("main", {}, head, ...parts.map((part) => part.element)),
  );
}
