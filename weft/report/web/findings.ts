// SPDX-License-Identifier: Apache-2.0
// Makes the section of the findings, largest gain first. Each finding says what costs time, where,
// and what to do. A command and a link show the finding in detail. If there are more than eight
// findings, a button reveals the rest.
import { command, el } from "./dom";
import { exactMs, milliseconds, several, share } from "./figures";
import type { Finding, Jump, PageData } from "./page_data";
import { nothing, Section, section } from "./section";
import { collapsedTable } from "./data_table";

const SHOWN = 8;

function place(finding: Finding): string {
  const parts: string[] = [];
  if (finding.rank >= 0) parts.push(`rank ${finding.rank}`);
  if (finding.step >= 0) parts.push(`step ${finding.step}`);
  if (finding.lane !== "") parts.push(finding.lane);
  if (finding.ranks.length > 1) parts.push(`affects ${several(finding.ranks.length, "rank")}`);
  return parts.join(" · ");
}

/** A link that zooms the timeline to the finding; null if the timeline has nothing to show for it. */
function jumpLink(finding: Finding, number: number, jump: Jump): HTMLElement | null {
  if (finding.start < 0) return null;
  const link = el(
    "a",
    { href: "#timeline", class: "jump", "aria-label": `show finding ${number} in the timeline` },
    "show in timeline",
  );
  link.addEventListener("click", (event) => {
    event.preventDefault();
    jump(finding.start, finding.end, finding.rank, finding.span);
  });
  return link;
}

function item(page: PageData, finding: Finding, number: number, jump: Jump): HTMLElement {
  const width = (100 * finding.gain) / Math.max(1, page.findings[0].gain);
  return el(
    "li",
    { class: "finding", id: `finding-${number}` },
    el(
      "div",
      {
        class: "gain",
        title: "how much shorter the step of the slowest rank would be without this finding",
      },
      el("strong", {}, `−${milliseconds(finding.gain)} ms`),
      el("span", {}, share(finding.gain, page.step)),
      el("i", { class: "gain-bar", style: `width:${width}%` }),
    ),
    el(
      "div",
      { class: "finding-text" },
      el("h3", {}, finding.what),
      el("p", { class: "place" }, place(finding), " ", jumpLink(finding, number, jump)),
      el("p", { class: "advice" }, finding.advice),
      command(finding.command),
    ),
  );
}

export function findings(page: PageData, jump: Jump): Section {
  const title = "What to fix";
  if (page.findings.length === 0) {
    return section("findings", title, null, nothing("Weft found nothing whose removal would shorten the step."));
  }
  const items = page.findings.map((finding, i) => item(page, finding, i + 1, jump));
  const list = el("ol", { class: "findings" }, ...items.slice(0, SHOWN));
  const rest = items.slice(SHOWN);
  const more = el("button", { type: "button", class: "more" }, `${rest.length} more`);
  more.addEventListener("click", () => {
    list.append(...rest);
    more.remove();
    rest[0].querySelector("a")?.focus();
  });
  const numbers = collapsedTable(
    "findings",
    [
      { title: "#" },
      { title: "finding", text: true },
      { title: "rank" },
      { title: "step" },
      { title: "gain ms" },
      { title: "time ms" },
      { title: "ops" },
    ],
    () =>
      page.findings.map((f, i) => [
        String(i + 1),
        f.kind.replace(/_/g, " "),
        f.rank < 0 ? "all" : String(f.rank),
        f.step < 0 ? "all" : String(f.step),
        exactMs(f.gain),
        exactMs(f.time),
        String(f.count),
      ]),
  );
  const lead =
    "The time beside each finding says how much shorter the step would be if this finding were " +
    "removed from the job and the rest were replayed. Gains overlap, so they do not add up.";
  return section("findings", title, lead, list, rest.length > 0 ? more : null, numbers);
}
