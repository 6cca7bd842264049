// SPDX-License-Identifier: Apache-2.0
// Pages of a few parts under one bar of links: those of link tables and of plans.
import { command, el } from "./dom";
import { Section, section } from "./section";
import { themeSwitch } from "./theme";

/** What every such page has. */
export interface ShortPage {
  version: string;
  commands: { command: string; what: string }[];
}

/** The last part: commands that go on from here. */
export function use(page: ShortPage): Section {
  const list = page.commands.map((item) =>
    el("li", {}, command(item.command), el("span", { class: "what" }, item.what)),
  );
  const version = el("p", { class: "facts" }, `Weft ${page.version}`);
  return section("use", "What to do with it", null, el("ul", { class: "commands" }, ...list), version);
}

/** What the file holds. */
export function readPage<Page>(): Page {
  return JSON.parse(document.getElementById("report-data")?.textContent ?? "") as Page;
}

/** `short`: names of parts in the bar, where they are not their titles. `skip`: to where, and its words. */
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
      // Charts take their colours from the style sheet: nothing to draw again.
      themeSwitch(() => undefined),
    ),
    el("main", {}, head, ...parts.map((part) => part.element)),
  );
}
