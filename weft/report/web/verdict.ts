// SPDX-License-Identifier: Apache-2.0
// Makes the head of the page: the name and the facts of the job, the verdict in one sentence, and
// the most important figures.
import { el } from "./dom";
import { milliseconds, ranges, several, share } from "./figures";
import type { Answer, PageData } from "./page_data";

function figure(value: string, unit: string, what: string): HTMLElement {
  const number = el("span", { class: "figure-value" }, value, el("small", {}, ` ${unit}`));
  return el("div", { class: "figure" }, number, el("span", { class: "figure-what" }, what));
}

/** The best what-if is shown only if its step is shorter than this share of the baseline step. */
const MAX_SHARE = 0.98;

/** The best what-if that a user could really choose; undefined if it saves less than 2 %. */
function bestChoice(page: PageData): Answer | undefined {
  const limit = page.what_if.baseline.step * MAX_SHARE;
  return page.what_if.answers.find((answer) => answer.best && answer.step < limit);
}

/** "3-5, 7", or only the first and last step if the list would be long. */
function stepRange(steps: number[]): string {
  const all = ranges(steps);
  return all.length <= 30 ? all : `${steps[0]} to ${steps[steps.length - 1]}`;
}

function figures(page: PageData): HTMLElement[] {
  const slowest = page.ranks.find((rank) => rank.rank === page.late_rank);
  const list = [
    figure(milliseconds(page.step), "ms", "per step, as recorded"),
    figure(milliseconds(page.what_if.baseline.step), "ms", "predicted without the profiler"),
  ];
  if (!slowest) return list;
  const causes = slowest.causes;
  // The indices are those of CAUSE_KINDS: 2 is exposed transfer, 3 waiting, 4 data loading, 5 host
  // launch, 6 idle.
  const exposed = causes[2] + causes[3];
  const host = causes[4] + causes[5] + causes[6];
  const percent = (part: number) => share(part, slowest.step).replace(" %", "");
  if (page.ranks.length > 1 || slowest.communication > 0) {
    list.push(figure(percent(exposed), "%", "exposed communication and waiting"));
  }
  list.push(figure(percent(host), "%", "device idle"));
  const best = bestChoice(page);
  if (best) list.push(figure(milliseconds(best.step), "ms", `best what-if, ${best.what_if}`));
  return list;
}

export function verdict(page: PageData): HTMLElement {
  const { label, world, devices, format, steps } = page.job;
  const found = page.ranks.length;
  const facts = [
    world > found ? `${found} of ${several(world, "rank")}` : several(found, "rank"),
    devices.join(", "),
    format,
    `${several(steps.length, "step")} (${stepRange(steps)})`,
  ];
  return el(
    "header",
    { id: "verdict", class: "verdict" },
    el("h1", {}, label),
    el("p", { class: "facts" }, facts.filter((fact) => fact !== "").join(" · ")),
    el("p", { class: "sentence" }, page.verdict),
    el("div", { class: "figures" }, ...figures(page)),
  );
}
