// SPDX-License-Identifier: Apache-2.0
// Makes the section with three charts: the step of each rank divided into causes, the communication
// of each rank divided into hidden and exposed time, and the critical path divided by cause and by
// rank.
import { CAUSE_KINDS, legend, occurring } from "./causes";
import { el } from "./dom";
import { count, exactMs, share, withUnit } from "./figures";
import { foldRanks, mean, meanTimes, Shown } from "./fold_ranks";
import type { PageData, RankData } from "./page_data";
import { Section, section } from "./section";
import { Bar, Part, stackedBars } from "./stacked_bars";
import { collapsedTable } from "./data_table";

const WAITING = CAUSE_KINDS.findIndex((kind) => kind.name === "waiting");

/**
 * The parts of a bar. If the bar shows a single rank, its waiting time is divided further, by the
 * rank that it waits for.
 */
function causeParts(row: Shown): Part[] {
  const times = meanTimes(row, (rank) => rank.causes);
  return CAUSE_KINDS.flatMap((kind, i): Part[] => {
    if (i !== WAITING || row.ranks.length > 1) {
      return [{ label: kind.label, time: times[i], colour: kind.colour }];
    }
    return row.ranks[0].waiting_for.map(([rank, time]) => ({
      label: rank < 0 ? "waiting for others" : `waiting for rank ${rank}`,
      time,
      colour: kind.colour,
      text: rank < 0 ? "others" : `for r${rank}`,
    }));
  });
}

function waitedFor(rank: RankData): string {
  const list = rank.waiting_for.map(([other, time]) => `${other < 0 ? "others" : other}: ${exactMs(time)}`);
  return list.join(", ");
}

export function breakdown(page: PageData): Section {
  const rows = foldRanks(page, (rank) => rank.step);
  const bars = rows.map((row): Bar => {
    const strong = row.ranks.length === 1 && row.ranks[0].rank === page.late_rank;
    return { label: row.label, name: row.label, parts: causeParts(row), strong };
  });
  const shown = occurring(CAUSE_KINDS, page.ranks.map((rank) => rank.causes));
  const numbers = collapsedTable(
    "time by cause, ms per step",
    [
      { title: "rank" },
      ...CAUSE_KINDS.map((kind) => ({ title: kind.label })),
      { title: "step" },
      { title: "waiting for rank", text: true },
    ],
    () => page.ranks.map((r) => [String(r.rank), ...r.causes.map(exactMs), exactMs(r.step), waitedFor(r)]),
  );
  const lead =
    "Mean step of each rank, in milliseconds. Every instant has exactly one cause, so the parts add up to the step.";
  return section(
    "breakdown",
    "Where the step goes",
    lead,
    legend(CAUSE_KINDS, shown),
    stackedBars(bars, "time by cause"),
    numbers,
    ...overlap(page),
    ...path(page),
  );
}

/** The chart of hidden and exposed communication; empty if no rank communicates. */
function overlap(page: PageData): HTMLElement[] {
  if (page.ranks.every((rank) => rank.communication === 0)) return [];
  const rows = foldRanks(page, (rank) => rank.communication - rank.hidden);
  const bars = rows.map((row): Bar => {
    const hidden = mean(row, (rank) => rank.hidden);
    const all = mean(row, (rank) => rank.communication);
    const parts = [
      { label: "hidden behind compute", time: hidden, colour: "var(--weft-hidden)" },
      { label: "exposed", time: all - hidden, colour: "var(--weft-exposed-transfer)" },
    ];
    const value = `${share(hidden, all)} hidden`;
    return { label: row.label, name: row.label, parts, value };
  });
  const swatch = (colour: string) => el("i", { class: "swatch", style: `background:var(--weft-${colour})` });
  return [
    el("h3", {}, "Communication: hidden and exposed"),
    el("p", { class: "lead" }, "Time per step during which data moves, without waiting."),
    el(
      "ul",
      { class: "legend" },
      el("li", {}, swatch("hidden"), "hidden behind compute or copies"),
      el("li", {}, swatch("exposed-transfer"), "exposed"),
    ),
    stackedBars(bars, "hidden and exposed communication"),
    collapsedTable(
      "communication, ms per step",
      [{ title: "rank" }, { title: "transfer" }, { title: "hidden" }, { title: "exposed" }],
      () =>
        page.ranks.map((r) =>
          [r.communication, r.hidden, r.communication - r.hidden].reduce(
            (cells, time) => [...cells, exactMs(time)],
            [String(r.rank)],
          ),
        ),
    ),
  ];
}

/** The chart of the critical path; empty if no critical path was found. */
function path(page: PageData): HTMLElement[] {
  const { length, causes } = page.path;
  if (length <= 0) return [];
  const byCause = CAUSE_KINDS.map((kind, i) => ({
    label: kind.label,
    time: causes[i],
    colour: kind.colour,
    text: share(causes[i], length),
  }));
  const ranks = page.ranks.filter((r) => r.on_path > 0).sort((a, b) => b.on_path - a.on_path);
  // The time of pieces that belong to no rank.
  const unassigned = length - ranks.reduce((sum, rank) => sum + rank.on_path, 0);
  const byRank = ranks.slice(0, 16).map((rank, i) => ({
    label: `rank ${rank.rank}`,
    time: rank.on_path,
    colour: `var(--weft-rank-${i % 2})`,
    text: `r${rank.rank} ${share(rank.on_path, length)}`,
  }));
  const bars = [
    { label: "by cause", name: "critical path by cause", parts: byCause },
    { label: "by rank", name: "critical path by rank", parts: byRank, value: "" },
  ];
  const lead =
    `The chain of ops that decides when the last step ends. At each collective, the chain goes ` +
    `through the rank that arrived last. It is ${withUnit(length)} long.`;
  return [
    el("h3", {}, "Critical path"),
    el("p", { class: "lead" }, lead),
    stackedBars(bars, "critical path"),
    collapsedTable(
      "critical path",
      [{ title: "cause or rank", text: true }, { title: "ms" }, { title: "share" }],
      () => [
        ...byCause.map((part) => [part.label, exactMs(part.time), share(part.time, length)]),
        ...ranks.map((r) => [`rank ${count(r.rank)}`, exactMs(r.on_path), share(r.on_path, length)]),
        ["no rank", exactMs(unassigned), share(unassigned, length)],
      ],
    ),
  ];
}
