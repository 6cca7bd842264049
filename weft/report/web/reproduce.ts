// SPDX-License-Identifier: Apache-2.0
// Makes the last section, which lists the commands and inputs that give the same results again.
import { command, el } from "./dom";
import { ranges } from "./figures";
import type { PageData } from "./page_data";
import { Section, section } from "./section";

export function reproduce(page: PageData): Section {
  const { commands, inputs, links } = page.reproduce;
  const rows: [string, string][] = [
    ["Weft", page.version],
    ["inputs", inputs.join(", ")],
    ["link tables", links.join(", ")],
    ["steps", ranges(page.job.steps)],
  ];
  const facts = rows
    .filter(([, text]) => text !== "")
    .flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]);
  const list = commands.map((item) =>
    el("li", {}, command(item.command), el("span", { class: "what" }, item.what)),
  );
  return section(
    "reproduce",
    "How to reproduce",
    null,
    el("ul", { class: "commands" }, ...list),
    el("dl", {}, ...facts),
  );
}
