// SPDX-License-Identifier: Apache-2.0
// Fills the panel below the timeline, which shows everything that is known about the selected span.
import { formatBytes, formatCount, formatPoint, formatTime, readable } from "./format";
import { callOf, collectiveOf, workOf } from "./links";
import { busyOf, Collective, laneOf, rankNumber, TimelineModel } from "./model";

type Jump = (span: number) => void;

/** Creates an element with text and class; `el()` of dom.ts also takes attributes and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  className = "",
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function jumpButton(text: string, span: number, jump: Jump): HTMLElement {
  const button = element("button", text, "link");
  button.type = "button";
  button.addEventListener("click", () => jump(span));
  return button;
}

/**
 * The cause of the piece of the critical path at this span; null if the span is not on the path.
 */
function pathCause(model: TimelineModel, span: number): string | null {
  const piece = model.path.span.indexOf(span);
  return piece < 0 ? null : readable(model.causes[model.path.cause[piece]]);
}

function facts(model: TimelineModel, span: number, jump: Jump): [string, string | HTMLElement][] {
  const { start, end, step, label, count } = model.spans;
  const lane = laneOf(model, span);
  const place = model.ranks[lane.rank].place;
  const device = lane.device >= 0 ? `, device ${lane.device}` : "";
  const found: [string, string | HTMLElement][] = [
    ["Kind", readable(model.classes[model.labelClass[label[span]]])],
    ["Rank", `${model.ranks[lane.rank].rank}${place ? ` (${place})` : ""}`],
    ["Lane", `${lane.name}${device}`],
    ["Step", step[span] >= 0 ? String(step[span]) : "none"],
    ["Start", formatPoint(start[span], 1)],
    ["Duration", formatTime(end[span] - start[span])],
  ];
  if (count.length > 0 && count[span] > 1) {
    const busy = formatTime(busyOf(model, span));
    found.push(["Merged", `${formatCount(count[span])} short spans, ${busy} in total`]);
  }
  const cause = pathCause(model, span);
  if (cause) found.push(["Critical path", `on the path, as ${cause}`]);
  const call = callOf(model, span);
  if (call >= 0) {
    const delay = formatTime(start[span] - end[call]);
    found.push(["Launched by", jumpButton(`${model.names[label[call]]}, ${delay} before`, call, jump)]);
  }
  for (const work of workOf(model, span).slice(0, 4)) {
    found.push(["Launches", jumpButton(model.shortNames[label[work]], work, jump)]);
  }
  return found;
}

function members(model: TimelineModel, collective: Collective, span: number, jump: Jump): HTMLElement {
  const { start, end } = model.spans;
  const first = Math.min(...collective.members.map((member) => start[member]));
  const table = element("table");
  const size = formatBytes(collective.bytes);
  const moved = formatTime(collective.end - collective.lastArrival);
  const group = collective.group ? ` of group ${collective.group}` : "";
  table.append(
    element("caption", `${readable(collective.kind)}${group}, ${size}: transfer takes ${moved}`),
  );
  const head = element("tr");
  for (const title of ["Rank", "Late by", "Waiting time"]) head.append(element("th", title));
  table.append(head);
  for (const member of collective.members) {
    const row = element("tr", "", member === span ? "current" : "");
    const rank = element("td");
    rank.append(jumpButton(String(rankNumber(model, member)), member, jump));
    const late = formatTime(start[member] - first);
    // A member that ends before the last member arrives, such as the root of a broadcast, did not
    // wait.
    const isWaiting = collective.lastArrival <= end[member];
    const waits = isWaiting ? formatTime(collective.lastArrival - start[member]) : "none";
    row.append(rank, element("td", late, "number"), element("td", waits, "number"));
    table.append(row);
  }
  return table;
}

/** Fills `panel` with the details of a span, or with a hint if span is -1. */
export function showDetails(panel: HTMLElement, model: TimelineModel, span: number, jump: Jump): void {
  if (span < 0) {
    panel.replaceChildren(element("p", "Click a span, or press Enter or an arrow key, to see its details.", "hint"));
    return;
  }
  const list = element("dl");
  for (const [name, value] of facts(model, span, jump)) {
    const definition = element("dd");
    definition.append(value);
    list.append(element("dt", name), definition);
  }
  panel.replaceChildren(element("h3", model.names[model.spans.label[span]]), list);
  const collective = collectiveOf(model, span);
  if (collective) panel.append(members(model, collective, span, jump));
}
