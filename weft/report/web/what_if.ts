// SPDX-License-Identifier: Apache-2.0
// Makes the section that compares three steps: the recorded step, the predicted step without the
// profiler (the baseline), and the predicted step of a what-if. It has bars with error bars, and a
// table of the changes. The reader chooses the what-if.
import { legend, PART_KINDS, partTimes } from "./causes";
import { el } from "./dom";
import { exactMs, milliseconds, share, signedMs, withUnit } from "./figures";
import type { Answer, PageData, Step } from "./page_data";
import { nothing, Section, section } from "./section";
import { Bar, stackedBars } from "./stacked_bars";
import { table, collapsedTable } from "./data_table";

function bar(label: string, step: Step): Bar {
  const parts = partTimes(step.parts).map((time, i) => ({
    label: PART_KINDS[i].label,
    time,
    colour: PART_KINDS[i].colour,
  }));
  return { label, name: label, parts, low: step.low, high: step.high, value: withUnit(step.step) };
}

function differences(before: Step, after: Step): HTMLTableElement {
  const was = partTimes(before.parts);
  const is = partTimes(after.parts);
  const row = (name: string, a: number, b: number) => [
    name,
    milliseconds(a),
    milliseconds(b),
    el("span", { class: b < a ? "better" : b > a ? "worse" : "" }, signedMs(b - a)),
  ];
  return table(
    "difference from the baseline, ms",
    [{ title: "part", text: true }, { title: "baseline" }, { title: "predicted" }, { title: "change" }],
    [
      ...PART_KINDS.map((kind, i) => row(kind.label, was[i], is[i])),
      row("step", before.step, after.step),
    ],
  );
}

/** "1.25×": the baseline step divided by the step of the what-if. */
function speedup(page: PageData, answer: Answer): string {
  return `${(page.what_if.baseline.step / Math.max(answer.step, 1)).toFixed(2)}×`;
}

/**
 * The index of the what-if that is shown when the page is opened. It is the first what-if that the
 * user asked for. If the user asked for none, it is the best what-if, or else the first.
 */
function firstShown(answers: Answer[]): number {
  const asked = answers.findIndex((answer) => answer.asked);
  const best = answers.findIndex((answer) => answer.best);
  return Math.max(0, asked >= 0 ? asked : best);
}

/** The list of what-ifs as radio buttons, each with a small bar and its error bar. */
function choices(page: PageData, chosen: number, choose: (i: number) => void): HTMLElement {
  const scale = Math.max(...page.what_if.answers.map((a) => a.high), page.what_if.baseline.high, 1);
  const items = page.what_if.answers.map((answer, i) => {
    const input = el("input", { type: "radio", name: "what-if", value: i, checked: i === chosen });
    input.addEventListener("change", () => choose(i));
    const width = (100 * answer.step) / scale;
    const whiskers =
      `left:${(100 * answer.low) / scale}%;width:${(100 * (answer.high - answer.low)) / scale}%`;
    return el(
      "label",
      { class: "choice" },
      input,
      el("span", { class: "choice-name" }, answer.what_if, answer.best ? el("b", {}, " best") : null),
      el(
        "span",
        { class: "choice-bar", "aria-hidden": "true" },
        el("i", { style: `width:${width}%` }),
        el("span", { class: "whisker", style: whiskers }),
      ),
      el("span", { class: "choice-step" }, milliseconds(answer.step)),
      el("span", { class: "choice-speed" }, speedup(page, answer)),
    );
  });
  return el("fieldset", { class: "choices" }, el("legend", {}, "What if …"), ...items);
}

function numbersTable(page: PageData): HTMLElement {
  const { recorded, baseline, answers } = page.what_if;
  const row = (name: string, step: Step, speed: string) => [
    name,
    exactMs(step.step),
    exactMs(step.low),
    exactMs(step.high),
    speed,
    ...partTimes(step.parts).map(exactMs),
  ];
  return collapsedTable(
    "steps before and after, ms",
    [
      { title: "what if", text: true },
      { title: "step" },
      { title: "low" },
      { title: "high" },
      { title: "speed-up" },
      ...PART_KINDS.map((kind) => ({ title: kind.label })),
    ],
    () => [
      row("as recorded", recorded, ""),
      row("baseline", baseline, "1.00×"),
      ...answers.map((answer) => row(answer.what_if, answer, speedup(page, answer))),
    ],
  );
}

export function whatIf(page: PageData): Section {
  const { recorded, baseline, answers, measured_links } = page.what_if;
  const title = "Before and after";
  if (answers.length === 0) {
    const why = "This recording has too little information to answer any of the standard what-ifs.";
    return section("what-if", title, null, nothing(why), numbersTable(page));
  }
  const shown = el("div", { class: "comparison", "aria-live": "polite" });
  const choose = (i: number) => {
    const answer = answers[i];
    const bars = [bar("recorded", recorded), bar("baseline", baseline), bar(answer.what_if, answer)];
    bars[2].strong = true;
    const gained = baseline.step - answer.step;
    const verb = gained >= 0 ? "saves" : "costs";
    shown.replaceChildren(
      el("h3", {}, answer.what_if),
      el(
        "p",
        {},
        `${verb} ${withUnit(Math.abs(gained))} of ${withUnit(baseline.step)} ` +
          `(${share(Math.abs(gained), baseline.step)}); the step is predicted between ` +
          `${withUnit(answer.low)} and ${withUnit(answer.high)}.`,
      ),
      stackedBars(bars, "recorded, baseline and predicted step"),
      differences(baseline, answer),
    );
  };
  const chosen = firstShown(answers);
  choose(chosen);
  const links = measured_links
    ? "Transfer times come from the link table."
    : "Transfer times come from the recording; a link table (--links) makes the error bars narrower.";
  const lead =
    "Recorded: the step with the profiler. Baseline: predicted for the same job without the profiler and " +
    `without pauses between steps. ${links}`;
  const all = PART_KINDS.map((_, i) => i);
  const sides = el("div", { class: "sides" }, choices(page, chosen, choose), shown);
  return section("what-if", title, lead, legend(PART_KINDS, all), sides, numbersTable(page));
}
