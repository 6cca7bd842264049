// SPDX-License-Identifier: Apache-2.0
// Entry point of the page of pipeline plans. It shows the step time and its lower bound, the
// schedule, the stages, and commands that use the plan.
import { el } from "./dom";
import { exactMs, milliseconds, ranges, share, withUnit } from "./figures";
import { formatBytes } from "./format";
import { gantt, ScheduleChart } from "./gantt";
import { Section, section } from "./section";
import { readPage, ShortPage, showPage, use } from "./short_page";
import { table } from "./data_table";

/** The JSON that plan_page.cc writes. Times are nanoseconds. */
interface PlanPage extends ShortPage {
  plans: Plan[];
  charts: ScheduleChart[];
}

interface Plan {
  file: string;
  profile: string;
  cluster: string;
  layers: number;
  devices: number;
  microbatches: number;
  schedule: string;
  step: number;
  bound: number;
  /** True if the bound holds only for plans with one stage per device. */
  one_stage_per_device: boolean;
  stages: Stage[];
}

interface Stage {
  layers: number;
  first: string;
  last: string;
  devices: number[];
  recompute: boolean;
  forward: number;
  backward: number;
  all_reduce: number;
  sends: number;
}

const SHORT: Record<string, string> = { schedule: "schedule", stages: "stages", use: "use it" };

function figure(value: string, what: string): HTMLElement {
  return el(
    "div",
    { class: "figure" },
    el("span", { class: "figure-value" }, value),
    el("span", { class: "figure-what" }, what),
  );
}

function head(page: PlanPage): HTMLElement {
  const [plan] = page.plans;
  const facts = [
    plan.profile,
    plan.cluster,
    `${plan.layers} layers on ${plan.devices} devices`,
    `${plan.microbatches} micro-batches`,
  ];
  const figures = page.plans.map((one, i) =>
    figure(withUnit(one.step), `per step, schedule ${one.schedule}; ${share(page.charts[i].idle, 1)} idle`),
  );
  const isOptimal = plan.bound >= plan.step;
  const gap = isOptimal
    ? "no plan is faster"
    : `another plan saves at most ${share(plan.step - plan.bound, plan.step)}`;
  const bounded = plan.one_stage_per_device ? "all plans with one stage per device" : "all plans";
  figures.push(figure(withUnit(plan.bound), `lower bound of ${bounded}: ${gap}`));
  return el(
    "header",
    { id: "verdict", class: "verdict" },
    el("h1", {}, page.plans.map((one) => one.file).join(", ")),
    el("p", { class: "facts" }, facts.filter((fact) => fact !== "").join(" · ")),
    el("div", { class: "figures" }, ...figures),
  );
}

function schedule(page: PlanPage): Section {
  const lead =
    "One simulated step, with one row for the devices of a stage and time to the right. Shaded time is idle.";
  return section("schedule", "Schedule", lead, ...gantt(page.charts));
}

function stageRow(stage: Stage, number: number): string[] {
  const name = stage.layers === 1 ? stage.first : `${stage.first} .. ${stage.last}`;
  return [
    String(number),
    name,
    String(stage.layers),
    ranges(stage.devices),
    milliseconds(stage.forward),
    milliseconds(stage.backward),
    stage.all_reduce > 0 ? exactMs(stage.all_reduce) : "",
    stage.sends > 0 ? formatBytes(stage.sends) : "",
    stage.recompute ? "yes" : "",
  ];
}

function stages(page: PlanPage): Section {
  const columns = [
    { title: "stage" },
    { title: "layers", text: true },
    { title: "number of layers" },
    { title: "devices", text: true },
    { title: "forward, ms" },
    { title: "backward, ms" },
    { title: "all-reduce, ms" },
    { title: "sends" },
    { title: "recomputes", text: true },
  ];
  const tables = page.plans.map((plan) =>
    el("div", { class: "scroll" }, table(`stages of ${plan.file}`, columns, plan.stages.map(stageRow))),
  );
  return section("stages", "Stages", "Times are per micro-batch, on the devices of the stage.", ...tables);
}

const page = readPage<PlanPage>();
showPage(head(page), [schedule(page), stages(page), use(page)], SHORT, ["schedule", "skip to the schedule"]);
