// SPDX-License-Identifier: Apache-2.0
// What the page is made from, apart from the timeline: the JSON that page_json.cc writes. Times are
// nanoseconds; points in time are those of the timeline. -1 and null stand for "not known".

import type { ScheduleChart } from "./gantt";

/** Time by cause, in the order of CAUSES. */
export type CauseTimes = number[];

export interface Finding {
  kind: string;
  what: string;
  /** Where it costs most; -1 where it has no rank, step or lane of its own. */
  rank: number;
  step: number;
  lane: string;
  ranks: number[];
  /** Off the step of the slowest rank, if it were gone. */
  gain: number;
  time: number;
  count: number;
  advice: string;
  what_if: string;
  command: string;
  /** What the timeline shows when it is asked to go there; start < 0: nothing. */
  start: number;
  end: number;
  span: number;
}

export interface Clock {
  offset: number;
  uncertainty: number;
  samples: number;
  tied: boolean;
}

export interface MemoryPeak {
  device: number;
  source: MemorySource;
  bytes: number;
  time: number;
  step: number;
  op: string;
}

export interface RankData {
  rank: number;
  /** One entry a complete step. */
  steps: number[];
  step: number;
  causes: CauseTimes;
  /** [rank, time]: waiting once more, by the rank that came last, longest first; -1: all others. */
  waiting_for: [number, number][];
  communication: number;
  hidden: number;
  collectives: number;
  came_last: number;
  made_wait: number;
  on_path: number;
  /** Largest relative error of the replay over its steps. */
  replay_error: number;
  clock: Clock;
  memory: MemoryPeak | null;
}

/** Collectives by first arrival; neighbours are put together where there are very many. */
export interface HeatMap {
  /** How many collectives there are in all. */
  collectives: number;
  columns: HeatColumn[];
  rows: HeatRow[];
}

export interface HeatColumn {
  /** How many collectives; the rest tells about the one with the largest skew. */
  count: number;
  /** Position among all collectives. */
  index: number;
  kind: string;
  group: string;
  bytes: number;
  step: number;
  first: number;
  last: number;
  end: number;
  last_rank: number;
}

export interface HeatRow {
  rank: number;
  /** Largest lateness in each column; -1: takes no part. */
  late_by: number[];
}

export type MemorySource = "allocator" | "allocations" | "estimated";

export interface MemoryCurve {
  rank: number;
  device: number;
  source: MemorySource;
  /** Columns, thinned so that no peak is lost. */
  times: number[];
  bytes: number[];
  peak: MemoryPeak;
}

/** A step time with its error bar, and what the step is made of. */
export interface Step {
  step: number;
  low: number;
  high: number;
  rank: number;
  parts: Parts;
}

/** Coarser than causes: what can be predicted. */
export interface Parts {
  compute: number;
  communication: number;
  waiting: number;
  host: number;
}

export interface Answer extends Step {
  what_if: string;
  /** Asked by the user, not one of those worth knowing. */
  asked: boolean;
  /** The choice with the shortest step. */
  best: boolean;
}

export interface Diagnostic {
  id: string;
  severity: "info" | "warning" | "data loss";
  count: number;
  what: string;
  advice: string;
  places: string[];
}

export interface PageData {
  version: string;
  job: {
    label: string;
    world: number;
    devices: string[];
    format: string;
    from_phases: boolean;
    steps: number[];
  };
  verdict: string;
  step: number;
  late_rank: number;
  findings: Finding[];
  ranks: RankData[];
  path: { length: number; causes: CauseTimes };
  heat_map: HeatMap;
  memory: MemoryCurve[];
  /** Of a pipeline: as recorded, and a better one if there is one. */
  schedules: ScheduleChart[];
  what_if: { recorded: Step; baseline: Step; answers: Answer[]; measured_links: boolean };
  quality: {
    diagnostics: Diagnostic[];
    replayed_step: number;
    replay_error: number;
    ops: number;
    edges: number;
    inferred_edges: number;
    interference: number;
    overhead_per_event: number;
  };
  reproduce: { commands: { command: string; what: string }[]; inputs: string[]; links: string[] };
}

/** Shows a stretch of time in the timeline, on a rank (-1: any) and a span (-1: none). */
export type Jump = (start: number, end: number, rank: number, span: number) => void;
