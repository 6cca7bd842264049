// SPDX-License-Identifier: Apache-2.0
// Adds the sections to the page, in the order of what readers usually want to know: what to fix
// comes first, details and data quality come last.
import { breakdown } from "./breakdown";
import { el } from "./dom";
import { findings } from "./findings";
import { memory } from "./memory";
import type { Jump, PageData } from "./page_data";
import { pipeline } from "./pipeline";
import { quality } from "./quality";
import { reproduce } from "./reproduce";
import { Section, section } from "./section";
import { steps } from "./steps";
import { stragglers } from "./stragglers";
import { themeSwitch } from "./theme";
import { verdict } from "./verdict";
import { whatIf } from "./what_if";

/** Maps ids of sections to short names for the navigation bar. */
const SHORT: Record<string, string> = {
  findings: "findings",
  steps: "steps",
  breakdown: "breakdown",
  timeline: "timeline",
  pipeline: "pipeline",
  stragglers: "late ranks",
  memory: "memory",
  "what-if": "what if",
  quality: "quality",
  reproduce: "reproduce",
};

function navigation(parts: Section[], theme: HTMLElement): HTMLElement {
  const links = parts.map((part) => el("a", { href: `#${part.id}` }, SHORT[part.id] ?? part.title));
  return el("nav", { "aria-label": "parts of the report" }, el("span", { class: "brand" }, "weft"), ...links, theme);
}

/**
 * Adds everything to `root`. `timeline` is the element of the timeline; mountTimeline() fills it
 * later.
 */
export function mountSections(
  root: HTMLElement,
  page: PageData,
  timeline: HTMLElement,
  jump: Jump,
): void {
  const late = stragglers(page, jump);
  const all: (Section | null)[] = [
    findings(page, jump),
    steps(page),
    breakdown(page),
    section("timeline", "Timeline", null, timeline),
    pipeline(page),
    late,
    memory(page, jump),
    whatIf(page),
    quality(page),
    reproduce(page),
  ];
  const parts = all.filter((part): part is Section => part !== null);
  const theme = themeSwitch(late.redraw);
  root.append(
    el("a", { href: "#findings", class: "skip" }, "skip to the findings"),
    navigation(parts, theme),
    el("main", {}, verdict(page), ...parts.map((part) => part.element)),
  );
}
