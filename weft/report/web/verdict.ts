// SPDX-License-Identifier: Apache-2.0
// The first thing on the page: what job this is, how long its step takes, and the one sentence that
// most readers came for.
import { el } from "./dom";
import { milliseconds, ranges, several, share } from "./figures";
import type { Answer, PageData } from "./page_data";

function figure(value: string, unit: string, what: string): HTMLElement {
  const number = el("span", { class: "figure-value" }, value, el("small", {}, ` ${unit}`));
  return el("div", { class: "figure" }, number, el("span", { class: "figure-what" }, what));
}

/** Shorter than the baseline by this much: less is not worth a figure at the top. */
const WORTH_IT = 0.98;

/** Of those that somebody could really choose, where transfer times are known well enough. */
function bestChoice(page: PageData): Answer | undefined {
  const limit = page.what_if.baseline.step * WORTH_IT;
  return page.what_if.answers.find((answer) => answer.best && answer.step < limit);
}

/** "23-1048" rather than a line full of numbers. */
function stepRange(steps: number[]): string {
  const all = ranges(steps);
  return all.length <= 30 ? all : `${steps[0]} to ${steps[steps.length - 1]}`;
}

function figures(page: PageData): HTMLElement[] {
  const slowest = page.ranks.find((rank) => rank.rank === page.late_rank);
  const list = [
    figure(milliseconds(page.step), "ms", "a step, as recorded"),
    figure(milliseconds(page.what_if.baseline.step), "ms", "predicted without the profiler"),
  ];
  if (!slowest) return list;
  const causes = slowest.causes;
  const exposed = causes[2] + causes[3];
  const host = causes[4] + causes[5] + causes[6];
  const percent = (part: number) => share(part, slowest.step).replace(" %", "");
  if (page.ranks.length > 1 || slowest.communication > 0) {
    list.push(figure(percent(exposed), "%", "exposed communication and waiting"));
  }
  list.push(figure(percent(host), "%", "device idle"));
  const best = bestChoice(page);
  if (best) list.push(figure(milliseconds(best.step), "ms", `best choice, ${best.what_if}`));
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
